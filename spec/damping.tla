------------------------------ MODULE damping -------------------------------
(***************************************************************************)
(* Damping (DESIGN section 4; the paper's 4.5): backoff bounds the number  *)
(* of failovers in a flapping run.                                         *)
(*                                                                         *)
(* A module of its own, because it is about long runs: spec/failover.tla   *)
(* has ticks, logs and leases, and a few failovers fill its bounds; here   *)
(* is nothing but the counts, and runs of dozens of beats.                 *)
(*                                                                         *)
(* One region is preferred and flaps.  A step is a beat.  At every beat    *)
(* the environment may take the region down or bring it back, and decides  *)
(* whether a graceful failover that is under way succeeds, fails, or goes  *)
(* on.  The state machine begins a graceful failover to it whenever        *)
(* damping allows: that is the worst it can do.                            *)
(***************************************************************************)
EXTENDS Naturals, Sequences

CONSTANTS
  Base,      \* live beats that a target needs at first, and the first pause
  Forget,    \* good beats as the writer after which earlier deaths are forgotten
  MaxBeats,  \* the length of the run
  Without    \* the names of the guards that are taken out

VARIABLES
  beat,      \* how many beats have passed
  up,        \* whether the preferred region lives
  writes,    \* whether it is the write region
  moving,    \* whether a graceful failover to it is under way
  live,      \* its live beats
  good,      \* its good beats as the writer
  died,      \* how often it died after a graceful failover to it had succeeded
  failed,    \* how many graceful failovers to it have failed in a row
  pause,     \* beats until the next may begin
  hist       \* history: the counts that the state machine does not see

vars == <<beat, up, writes, moving, live, good, died, failed, pause, hist>>

ASSUME Without \subseteq {"LiveBeats", "Pause"}

Guard(name) == name \notin Without

Power(n) == <<1, 2, 4, 8, 16, 32, 64, 128, 256>>[n + 1]

(* Counters that only need to be compared stop where nothing changes any more. *)
Capped(n, most) == IF n < most THEN n ELSE most
Needed == IF Guard("LiveBeats") THEN Base * Power(died) ELSE Base

Init ==
  /\ beat = 0
  /\ up = TRUE
  /\ writes = FALSE
  /\ moving = FALSE
  /\ live = 0
  /\ good = 0
  /\ died = 0
  /\ failed = 0
  /\ pause = 0
  /\ hist = [deaths |-> 0, since |-> 0, failures |-> 0, waited |-> 0, failovers |-> 0]

(* Beats since the last time of forgetting, and since the last success. *)
Older == [hist EXCEPT !.since = hist.since + 1, !.waited = hist.waited + 1]

Down(n) == IF n > 0 THEN n - 1 ELSE 0

MayStart == up /\ ~writes /\ ~moving /\ pause = 0 /\ live >= Needed

(* The region lives through this beat. *)
Live ==
  /\ up
  /\ live' = Capped(live + 1, MaxBeats)
  /\ pause' = Down(pause)
  /\ moving' = (moving \/ MayStart)
  /\ IF writes /\ good + 1 = Forget
     THEN /\ good' = 0
          /\ died' = 0
          /\ hist' = [Older EXCEPT !.deaths = 0, !.since = 0]
     ELSE /\ good' = IF writes THEN good + 1 ELSE 0
          /\ hist' = Older
          /\ UNCHANGED died
  /\ UNCHANGED <<up, writes, failed>>

(* A graceful failover succeeds. *)
Succeed ==
  /\ up
  /\ moving
  /\ moving' = FALSE
  /\ writes' = TRUE
  /\ good' = 0
  /\ failed' = 0
  /\ pause' = 0
  /\ live' = Capped(live + 1, MaxBeats)
  /\ hist' = [Older EXCEPT !.failures = 0, !.waited = 0, !.failovers = hist.failovers + 1]
  /\ UNCHANGED <<up, died>>

Pause == IF Guard("Pause") THEN Base * Power(failed) ELSE 0

(* A graceful failover fails: it took too long, the writer goes on. *)
Fail ==
  /\ moving
  /\ moving' = FALSE
  /\ failed' = failed + 1
  /\ pause' = Pause
  /\ live' = IF up THEN Capped(live + 1, MaxBeats) ELSE 0
  /\ hist' = [Older EXCEPT !.failures = hist.failures + 1]
  /\ UNCHANGED <<up, writes, good, died>>

(* The region dies; if it was the writer, an ungraceful failover follows. *)
Die ==
  /\ up
  /\ up' = FALSE
  /\ live' = 0
  /\ good' = 0
  /\ writes' = FALSE
  /\ moving' = FALSE
  /\ died' = IF writes THEN died + 1 ELSE died
  /\ failed' = IF moving THEN failed + 1 ELSE failed
  /\ pause' = IF moving THEN Pause ELSE Down(pause)
  /\ hist' = [Older EXCEPT !.deaths = hist.deaths + (IF writes THEN 1 ELSE 0),
                           !.failures = hist.failures + (IF moving THEN 1 ELSE 0),
                           !.failovers = hist.failovers + (IF writes THEN 1 ELSE 0)]

Return ==
  /\ ~up
  /\ up' = TRUE
  /\ live' = 0
  /\ pause' = Down(pause)
  /\ hist' = Older
  /\ UNCHANGED <<writes, moving, good, died, failed>>

Next == beat < MaxBeats /\ beat' = beat + 1 /\ (Live \/ Succeed \/ Fail \/ Die \/ Return)

-----------------------------------------------------------------------------
(* d successes that ended in a death took Base + 2 Base + 4 Base + .. live beats.  When it forgets,
   the region writes already: its next death has cost nothing since. *)
PaidDeaths == IF hist.since = beat THEN hist.deaths ELSE Down(hist.deaths)
DeathsAreBounded == Base * (Power(PaidDeaths) - 1) <= hist.since

(* f failures in a row took Base + 2 Base + .. beats between them. *)
FailuresAreBounded == hist.failures > 0 => Base * (Power(hist.failures - 1) - 1) <= hist.waited

(* Every death costs two failovers: so there are at most about 2 log2(beats / Base), plus two for
   every time of forgetting. *)
FailoversAreBounded ==
  Forget > MaxBeats => Base * (Power((hist.failovers + 1) \div 2) - 1) <= beat

TypeOK ==
  /\ writes => up
  /\ moving => (up /\ ~writes)
  /\ failed = hist.failures
  /\ died = hist.deaths

(* Situations that the model must be able to reach. *)
Flapped == hist.failovers >= 6
NotFlapped == ~Flapped
Forgotten == hist.since < beat /\ hist.failovers >= 3
NotForgotten == ~Forgotten
FailedOften == hist.failures >= 3
NotFailedOften == ~FailedOften
=============================================================================
