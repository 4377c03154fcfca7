------------------------------ MODULE failover ------------------------------
(***************************************************************************)
(* The failover state machine of one partition-set (DESIGN sections 4 and  *)
(* 5; the paper's 3.2, 4.1, 4.2 and 4.4 to 4.6).  Rule numbers are those   *)
(* of DESIGN section 5.  Every rule, or part of a rule, has a name and can *)
(* be taken out by it (Without); spec/failover.md has the table of what    *)
(* breaks then.                                                            *)
(*                                                                         *)
(* The register is one atomic variable, st: spec/caspaxos.tla is about how *)
(* it comes to be atomic.  A state update is one step, or three for the    *)
(* regions in Slow: begun, landed in the register, answered; and it may be *)
(* given up with an unknown outcome in between, and land later or never.   *)
(*                                                                         *)
(* Nothing has to happen.  A message that is lost, a link or a register    *)
(* that cannot be reached, a region that is down are all steps that are    *)
(* not taken, so they need no actions; a crash and the return is a         *)
(* Restart, at any time, that forgets what is not on disk.  Only the part  *)
(* called Healing, which asks for an end of outages, names what is broken. *)
(*                                                                         *)
(* Time is a tick of all clocks.  Beats have no numbers: what matters of   *)
(* (GCN, writer, beat) is whether it is still what the register holds, and *)
(* for how long, so clock.silence counts the ticks since the last beat     *)
(* landed.  That is as early as anybody can have learned of it; whoever    *)
(* learns later waits longer, which is as if it raised later.  A slow      *)
(* clock stretches a lease by Drift ticks; a waiter's margin is as long.   *)
(*                                                                         *)
(* A log is the sequence of the epochs (GCNs) of its entries: an entry is  *)
(* its LSN and its epoch.  Replication and its acknowledgement are one     *)
(* step, and the writer commits in the same step if it can: an             *)
(* acknowledgement that comes later, or a commit that is made later, binds *)
(* nobody earlier.  Strong reads are instantaneous.                        *)
(*                                                                         *)
(* LET and definitions without parameters are evaluated by the checker at  *)
(* every use, so a value that is used often is bound by \E v \in {value}.  *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Regions,         \* numbers from 1; a lower number is a higher priority
  Consistency,     \* "Strong", "Bounded", "Session", "Prefix" or "Eventual"
  MinDurability,   \* the lease set never has fewer members
  Staleness,       \* bounded staleness: how many versions a member may lag
  Lease,           \* ticks of a writer lease
  Drift,           \* by how many ticks a slow clock can stretch a lease
  GrantLength,     \* ticks of a read grant
  InitialSet,      \* the lease set at the start; region 1 writes
  MaxGcn, MaxLog,
  Features,        \* what may happen: see AllFeatures
  Slow,            \* regions whose updates take time and may have an unknown outcome
  MaxUnknown,      \* how many outcomes stay unknown
  Restarters,      \* regions that may restart
  MaxRestarts,
  MaxGraceful,     \* how many graceful failovers are begun
  Dead, CutLinks, CutRegister,  \* what does not heal (see Healing)
  OutageBound,     \* after healing: the ticks within which writes are back
  Without          \* the names of the rules, or parts of rules, that are taken out

VARIABLES
  st,       \* the failover state: the value of the register, which is atomic
  reg,      \* for each region what it keeps, on disk and in memory
  flight,   \* for each region its update that is on its way
  clock,    \* waits that are the same for all who wait
  heal,     \* whether the faults are over, and for how long
  hist      \* history variables: nothing in the system reads them

vars == <<st, reg, flight, clock, heal, hist>>

AllFeatures == {
  "change",    \* the writer changes the lease set
  "graceful",  \* the list of priorities changes, and a graceful failover follows
  "other",     \* the switch may be made by another region's update than the target's
  "forced",    \* an operator forces failovers
  "reads",     \* read grants and strong reads
  "stop",      \* regions in Restarters also stop on purpose
  "hello",     \* regions that do not write report under the current GCN
  "lost",      \* the list of lost writes is kept
  "heal"}      \* see Healing

Parts == {
  "1", "2", "2-gcn", "3-start", "3-read", "3-unknown", "3-restart", "4-compare", "4-wait", "4-margin",
  "4-learn", "5", "6", "7-fence", "7-clear", "7-reads", "8", "9", "9-set", "10", "10-keep", "11",
  "11-reach", "11-weak", "12", "12-keep", "12-all", "12-triple", "13-graceful", "13-restart", "13-all", "13-learn",
  "14-add", "14-remove", "15-lease", "15-lease-set", "15-commit", "15-asked", "16-commit", "16-durable",
  "16-tail", "17", "18-remove", "18-add", "18-equal", "18-wait", "19-target", "19-epoch", "19-clear", "19-resume",
  "20", "20-abort", "21", "22-report", "22-clear", "22-grants", "22-raise"}

ASSUME Features \subseteq AllFeatures
ASSUME Without \subseteq Parts
ASSUME 1 \in InitialSet /\ InitialSet \subseteq Regions

On(feature) == feature \in Features
Rule(name) == name \notin Without

Strong == Consistency = "Strong"
Bounded == Consistency = "Bounded"
Weak == ~Strong /\ ~Bounded

-----------------------------------------------------------------------------
(* Sequences and progress. *)

Least(a, b) == IF a <= b THEN a ELSE b
Most(a, b) == IF a >= b THEN a ELSE b
Prefix(s, n) == SubSeq(s, 1, n)

(* Logs that agree somewhere agree in all before it (LogsMatch), so the last entry tells. *)
IsPrefix(s, t) == Len(s) <= Len(t) /\ (Len(s) = 0 \/ s[Len(s)] = t[Len(s)])

(* The length of the longest common beginning. *)
Common(s, t) == Cardinality({n \in 1 .. Least(Len(s), Len(t)) : s[n] = t[n]})

Entries(s) == {<<i, s[i]>> : i \in 1 .. Len(s)}

(* (epoch of the last entry, LSN), and its order. *)
NoProgress == <<0, 0>>
Progress(log) == IF Len(log) = 0 THEN NoProgress ELSE <<log[Len(log)], Len(log)>>
AtLeast(p, q) == p[1] > q[1] \/ (p[1] = q[1] /\ p[2] >= q[2])

Zeros == [x \in Regions |-> 0]

(* Time.  FullLease is what a lease can last on a slow clock, WaitTicks what one waits for its end. *)
FullLease == Lease + Drift
WaitTicks == IF Rule("4-margin") THEN Lease + Drift ELSE Lease
SilenceTicks == IF Rule("4-wait") THEN WaitTicks ELSE 1

-----------------------------------------------------------------------------
(* What a region keeps.  On disk: log, epoch (the highest GCN it has fenced itself to), gclsn.
   In memory: mode, "W" writes (ReadWrite), "Q" is quiesced (ReadWriteWithWritesQuiesced), "R" reads;
   lease, what is left of the writer lease; cset, the commit set; known, the lease set that the last
   own update returned; maybe, additions of unknown outcome; acks, how far each region is durable in
   this epoch; taken, the length of the log at takeover; grant, what is left of its own read grant, and
   given, of those it gave; hold, how long nobody leaves the commit set (rule 13) and heldBy, why;
   mute, whether it was elected without silence (rule 12); boot, no own update since the restart. *)
Reader == [log |-> <<>>, epoch |-> 1, mode |-> "R", lease |-> 0, cset |-> {}, known |-> {},
           maybe |-> {}, acks |-> Zeros, gclsn |-> 0, taken |-> 0, grant |-> 0, given |-> Zeros,
           hold |-> 0, heldBy |-> "", mute |-> FALSE, boot |-> FALSE]

(* An update on its way: "sent", "landed" (not answered yet) or "ghost" (given up, may land yet). *)
NoFlight == [stage |-> "none", kind |-> "", arg |-> 0, gcn |-> 0, age |-> 0, fresh |-> TRUE,
             lset |-> {}, phase |-> ""]

Init ==
  /\ st = [gcn |-> 1, writer |-> 1, phase |-> "Steady", target |-> 0, lset |-> InitialSet,
           reported |-> {}, progress |-> [x \in Regions |-> NoProgress], final |-> <<>>,
           cause |-> "silence", stops |-> {}, preferred |-> 1]
  /\ reg = [x \in Regions |->
              IF x = 1 THEN [Reader EXCEPT !.mode = "W", !.lease = FullLease, !.cset = InitialSet,
                                           !.known = InitialSet]
              ELSE Reader]
  /\ flight = [x \in Regions |-> NoFlight]
  /\ clock = [silence |-> 0, since |-> 0]
  /\ heal = [on |-> FALSE, due |-> {}, stable |-> 0]
  /\ hist = [acked |-> <<>>, read |-> <<<<>>, <<>>>>, elected |-> "in", graceful |-> "kept",
             needless |-> FALSE, lost |-> {}, unknown |-> 0, restarts |-> 0, gracefuls |-> 0]

(* What does not heal: Dead regions, pairs of regions in CutLinks, regions in CutRegister that cannot
   reach the register.  Before healing anything may fail to happen, so nothing need be said. *)
Alive(x) == ~heal.on \/ x \notin Dead
Linked(x, y) == Alive(x) /\ Alive(y) /\ (~heal.on \/ (<<x, y>> \notin CutLinks /\ <<y, x>> \notin CutLinks))
Registered(x) == ~heal.on \/ (x \notin Dead /\ x \notin CutRegister)

(* Two failovers are left for the time after healing. *)
LastGcn == IF On("heal") /\ ~heal.on THEN MaxGcn - 2 ELSE MaxGcn

-----------------------------------------------------------------------------
(* What a region does on its own. *)

Writes(x) == reg[x].mode = "W" \/ reg[x].mode = "Q"

(* Rule 12: the wait of a writer that was elected without silence. *)
Muted(L) == Rule("12") /\ L.mute /\ clock.since < WaitTicks

(* The right to accept writes. *)
Accepts(x) == reg[x].mode = "W" /\ reg[x].lease > 0 /\ ~Muted(reg[x])

(* The highest LSN that every region of the commit set has acknowledged. *)
Durable(L, x) ==
  IF Strong THEN Cardinality({n \in 1 .. Len(L.log) : \A m \in L.cset \ {x} : L.acks[m] >= n})
  ELSE Len(L.log)

(* Commits as soon as it can: nobody gains by waiting, the acknowledgement is binding from then. *)
CommittedAt(L, n) == IF n > L.gclsn THEN [L EXCEPT !.gclsn = n] ELSE L
Committed(L, x) == IF L.gclsn = Len(L.log) THEN L ELSE CommittedAt(L, Durable(L, x))

(* What clients have been told: this log, unless what they know is more. *)
Told(known, told) == IF IsPrefix(told, known) THEN known ELSE told
AckedBy(L, before) == IF L.gclsn > before THEN Told(hist.acked, Prefix(L.log, L.gclsn)) ELSE hist.acked

(* Bounded staleness holds the writer back when a member of the lease set lags. *)
MayWrite(x) ==
  /\ Accepts(x)
  /\ Len(reg[x].log) < MaxLog
  /\ Bounded => \A m \in reg[x].cset \ {x} : Len(reg[x].log) - reg[x].acks[m] < Staleness

Write(x) ==
  /\ \E L \in {Committed([reg[x] EXCEPT !.log = Append(reg[x].log, reg[x].epoch)], x)} :
       /\ reg' = [reg EXCEPT ![x] = L]
       /\ hist' = [hist EXCEPT !.acked = AckedBy(L, reg[x].gclsn)]
  /\ UNCHANGED <<st, flight, clock>>

(* Rule 7: drop the rights of older epochs, and refuse them from now on. *)
Fenced(L, gcn) ==
  IF L.epoch >= gcn THEN L
  ELSE [L EXCEPT !.epoch = gcn, !.mode = "R", !.lease = 0, !.cset = {}, !.known = {}, !.maybe = {},
                 !.acks = Zeros, !.taken = 0, !.given = Zeros, !.mute = FALSE,
                 !.hold = IF ~L.boot THEN 0 ELSE IF Rule("13-learn") THEN WaitTicks ELSE L.hold,
                 !.heldBy = IF L.boot THEN "restart" ELSE "",
                 !.grant = IF Rule("7-reads") THEN 0 ELSE L.grant]

(* Replication from the writer w to m, and its acknowledgement.  m reconciles with w's epoch:
   what w's log does not have is false progress, and is undone (rule 5). *)
Merged(ours, theirs, shared) ==
  IF Rule("5") \/ shared = Len(theirs) THEN Prefix(ours, Least(shared + 1, Len(ours))) ELSE theirs

Copied(L, log, gclsn) ==
  [L EXCEPT !.log = log,
            !.gclsn = IF On("reads") THEN Most(Least(L.gclsn, Len(log)), Least(gclsn, Len(log))) ELSE 0]

MayReplicate(w, m) ==
  /\ m # w
  /\ reg[m].epoch <= reg[w].epoch
  /\ \/ reg[w].acks[m] # Len(reg[w].log)
     \/ reg[m].log # reg[w].log
     \/ reg[m].epoch # reg[w].epoch
     \/ On("reads") /\ reg[m].gclsn # reg[w].gclsn

Replicate(w, m) ==
  /\ \E log \in {Merged(reg[w].log, reg[m].log, Common(reg[w].log, reg[m].log))} :
       \E L \in {Committed([reg[w] EXCEPT !.acks = [reg[w].acks EXCEPT ![m] = Len(log)]], w)} :
         /\ reg' = [reg EXCEPT ![w] = L,
                               ![m] = Copied(Fenced(reg[m], reg[w].epoch), log, reg[w].gclsn)]
         /\ hist' = [hist EXCEPT !.acked = AckedBy(L, reg[w].gclsn),
                                 !.lost = IF On("lost") THEN hist.lost \cup (Entries(reg[m].log) \ Entries(log))
                                          ELSE {}]
  /\ UNCHANGED <<st, flight, clock>>

(* Rule 16: the commit set first. *)
MayJoin(w, m) ==
  On("change") /\ reg[w].mode = "W" /\ reg[w].lease > 0 /\ m \notin reg[w].cset

Join(w, m) ==
  /\ reg' = [reg EXCEPT ![w] = [reg[w] EXCEPT !.cset = reg[w].cset \cup {m}]]
  /\ UNCHANGED <<st, flight, clock, hist>>

(* Rules 14 and 17: the commit set last, when the region's grant has run out and the waits of
   rules 12 and 13 are over. *)
MayLeave(w, m) ==
  /\ Writes(w)
  /\ m # w
  /\ m \in reg[w].cset \ reg[w].known
  /\ flight[w].arg # m \/ flight[w].stage \in {"none", "ghost"}
  /\ m \notin reg[w].maybe
  /\ reg[w].given[m] = 0 \/ m \in st.stops \/ ~Rule("17")
  /\ \/ reg[w].hold = 0
     \/ m \in st.stops
     \/ m \in st.reported /\ (reg[w].heldBy = "graceful" \/ ~Rule("22-report"))
     \/ ~Rule("13-graceful") /\ reg[w].heldBy = "graceful"
     \/ ~Rule("13-restart") /\ reg[w].heldBy = "restart"
  /\ ~Muted(reg[w]) \/ ~Rule("12-all")

Leave(w, m) ==
  /\ \E L \in {Committed([reg[w] EXCEPT !.cset = reg[w].cset \ {m}], w)} :
       /\ reg' = [reg EXCEPT ![w] = L]
       /\ hist' = [hist EXCEPT !.acked = AckedBy(L, reg[w].gclsn)]
  /\ UNCHANGED <<st, flight, clock>>

-----------------------------------------------------------------------------
(* Strong reads. *)

(* Rule 15. *)
GrantTicks(w) == IF Rule("15-lease") THEN Least(GrantLength, reg[w].lease) ELSE GrantLength

MayGrant(w, m) ==
  /\ On("reads")
  /\ m # w
  /\ Writes(w)
  /\ reg[w].lease > 0
  /\ ~Muted(reg[w])
  /\ Rule("15-commit") => m \in reg[w].cset
  /\ Rule("15-lease-set") => m \in reg[w].known
  /\ reg[m].epoch = reg[w].epoch
  /\ reg[m].mode = "R"
  /\ m \notin st.stops \/ ~Rule("22-clear")
  /\ GrantTicks(w) > reg[m].grant

Grant(w, m) ==
  /\ reg' = [reg EXCEPT ![m] = [reg[m] EXCEPT !.grant = GrantTicks(w) + (IF Rule("15-asked") THEN 0 ELSE 1)],
                        ![w] = [reg[w] EXCEPT !.given = [reg[w].given EXCEPT ![m] = GrantTicks(w)]]]
  /\ UNCHANGED <<st, flight, clock, hist>>

(* Rule 6: a new writer serves strong reads only when all that it took over is committed again. *)
ReadAtWriter(x) ==
  /\ Writes(x)
  /\ reg[x].lease > 0
  /\ ~Muted(reg[x])
  /\ Rule("6") => reg[x].gclsn >= reg[x].taken

ReadAtReader(x) == reg[x].grant > 0 /\ reg[x].gclsn = Len(reg[x].log)

ReadValue(x) ==
  IF ~Writes(x) THEN reg[x].log
  ELSE Prefix(reg[x].log, IF Rule("6") THEN reg[x].gclsn ELSE Most(reg[x].gclsn, reg[x].taken))

(* What the client that reads knows already: the last read, or the last acknowledgement. *)
ReadBefore == IF Len(hist.acked) > Len(hist.read[2]) THEN hist.acked ELSE hist.read[2]

MayRead(x) ==
  /\ On("reads")
  /\ ReadAtWriter(x) \/ ReadAtReader(x)
  /\ hist.read[2] # ReadValue(x) \/ ~IsPrefix(ReadBefore, ReadValue(x))
  /\ IsPrefix(hist.read[1], hist.read[2])

(* The pair (previous, last); once they are in order only the last matters. *)
Read(x) ==
  /\ hist' = [hist EXCEPT !.read = IF IsPrefix(ReadBefore, ReadValue(x))
                                   THEN <<ReadValue(x), ReadValue(x)>>
                                   ELSE <<ReadBefore, ReadValue(x)>>]
  /\ UNCHANGED <<st, reg, flight, clock>>

-----------------------------------------------------------------------------
(* The state update: transition(state, report) -> state. *)

(* The silence starts anew with every beat of the writer.  Rule 4: the raise compares. *)
Beaten == [clock EXCEPT !.silence = IF ~Rule("4-compare") THEN clock.silence ELSE IF Rule("4-learn") THEN 0 ELSE 1]

(* What a writer asks for, and what the editor makes of it. *)
Removed(s, m) ==
  IF m \in s.lset /\ Cardinality(s.lset) > MinDurability /\ (s.phase = "Steady" \/ ~Rule("18-remove"))
  THEN [s EXCEPT !.lset = s.lset \ {m}] ELSE s

Aborted(s) ==
  [s EXCEPT !.phase = "Steady", !.target = 0, !.final = IF Rule("19-clear") THEN <<>> ELSE s.final]

Edited(s, kind, m, progress) ==
  IF kind = "beat" THEN s
  ELSE IF kind = "add" THEN [s EXCEPT !.lset = s.lset \cup {m}]
  ELSE IF kind = "remove" THEN Removed(s, m)
  ELSE IF kind = "final" /\ s.phase = "Graceful" THEN [s EXCEPT !.final = progress]
  ELSE IF kind = "abort" /\ s.phase = "Graceful" THEN Aborted(s)
  ELSE s

(* What an own update that came back makes of the writer (rules 3, 14, 19). *)
Renewed(L, x, lset, phase, age) ==
  [L EXCEPT !.lease = Most(L.lease, IF age >= FullLease THEN 0 ELSE FullLease - age),
            !.known = lset,
            !.maybe = {},
            !.mode = IF phase = "Graceful" THEN "Q" ELSE "W"]

(* The commit set of a new writer: rules 9, 12, 13. *)
StartSet(L, s) ==
  IF (L.boot /\ Rule("13-all")) \/ (s.cause = "forced" /\ Rule("12-all")) THEN Regions ELSE s.lset

(* A region that an own update names the writer, for the first time in this life or epoch:
   rules 9, 12, 13. *)
TakesOver(L, x, s) ==
  Renewed([L EXCEPT !.cset = StartSet(L, s),
                       !.taken = Len(L.log),
                       !.acks = Zeros,
                       !.given = Zeros,
                       !.mute = s.cause = "forced" /\ s.reported # Regions,
                       !.hold = IF L.boot THEN L.hold ELSE IF s.cause = "graceful" THEN WaitTicks ELSE 0,
                       !.heldBy = IF L.boot THEN "restart" ELSE IF s.cause = "graceful" THEN "graceful" ELSE "",
                       !.boot = FALSE,
                       !.grant = 0], x, s.lset, s.phase, 0)

OwnUpdate(L, x, s) ==
  Committed(IF L.mode = "R" THEN TakesOver(L, x, s)
            ELSE [Renewed(L, x, s.lset, s.phase, 0) EXCEPT !.mute = L.mute /\ s.reported # Regions], x)

(* What a writer may ask for.  Rules 16 and 18: added is who is in the commit set and durable, and
   before the final report; removed is nobody during a graceful failover. *)
MayAdd(x, m) ==
  /\ m \notin reg[x].known
  /\ m \in reg[x].cset \/ ~Rule("16-commit")
  /\ reg[x].mode = "W" \/ st.final = <<>> \/ ~Rule("18-add")
  /\ reg[x].acks[m] >= Most(reg[x].gclsn, reg[x].taken) \/ ~Rule("16-durable")
  /\ reg[x].gclsn = Len(reg[x].log) \/ Rule("16-tail")

MayRemove(x, m) == m \in reg[x].known \ {x} /\ (reg[x].mode = "W" \/ ~Rule("18-remove"))

(* Rule 18: pending changes, and the wait of rule 12, are finished before the final report: whoever the
   writes were forced from may still accept, and the target does not wait for that region. *)
MayFinish(x) ==
  /\ st.final = <<>>
  /\ (reg[x].cset = reg[x].known /\ reg[x].maybe = {}) \/ ~Rule("18-equal")
  /\ ~Muted(reg[x]) \/ ~Rule("18-wait")

Changes(x) ==
  IF On("change") /\ Writes(x)
  THEN {<<"add", m>> : m \in {n \in Regions : MayAdd(x, n)}}
       \cup {<<"remove", m>> : m \in {n \in Regions : MayRemove(x, n)}}
  ELSE {}

Endings(x) ==
  IF reg[x].mode = "Q" THEN {<<"abort", 0>>} \cup (IF MayFinish(x) THEN {<<"final", 0>>} ELSE {}) ELSE {}

Asks(x) == {<<"beat", 0>>} \cup Changes(x) \cup Endings(x)

(* Rule 22: an incarnation's first update clears the stop mark of the one before. *)
Unmarked(x) == IF Rule("22-clear") THEN st.stops \ {x} ELSE st.stops

(* Its GCN is the one it was computed under (rule 2); one update at a time. *)
MayUpdate(x) == st.writer = x /\ reg[x].epoch = st.gcn /\ flight[x].stage \in {"none", "ghost"}

Settled(x) == IF flight[x].stage = "ghost" /\ flight[x].fresh THEN [flight EXCEPT ![x] = NoFlight] ELSE flight

Update(x, ask) ==
  /\ \E s \in {Edited([st EXCEPT !.stops = Unmarked(x)], ask[1], ask[2], Progress(reg[x].log))} :
       \E L \in {OwnUpdate(reg[x], x, s)} :
         /\ st' = s
         /\ reg' = [reg EXCEPT ![x] = L]
         /\ hist' = [hist EXCEPT !.acked = AckedBy(L, reg[x].gclsn)]
  /\ clock' = Beaten
  /\ flight' = Settled(x)

(* The writer's update, when it takes time: begun, landed in the register, and answered; or given
   up with an unknown outcome, and then it may land later, or not. *)
MayBegin(x) == x \in Slow /\ MayUpdate(x) /\ Writes(x) /\ flight[x].stage = "none"

Begin(x, ask) ==
  /\ flight' = [flight EXCEPT ![x] = [NoFlight EXCEPT !.stage = "sent", !.kind = ask[1], !.arg = ask[2],
                                                      !.gcn = reg[x].epoch]]
  /\ UNCHANGED <<st, reg, clock, hist>>

(* Rule 2: the editor ignores a report of another GCN or another incarnation. *)
MayLand(x) ==
  /\ flight[x].stage \in {"sent", "ghost"}
  /\ st.writer = x
  /\ flight[x].gcn = st.gcn \/ ~Rule("2-gcn")

Land(x) ==
  /\ \E s \in {Edited(st, flight[x].kind, flight[x].arg, NoProgress)} :
       /\ st' = s
       /\ flight' = [flight EXCEPT ![x] = IF flight[x].stage = "sent"
                       THEN [flight[x] EXCEPT !.stage = "landed", !.lset = s.lset, !.phase = s.phase]
                       ELSE NoFlight]
  /\ clock' = Beaten
  /\ UNCHANGED <<reg, hist>>

(* Rule 3: the lease runs from the start of the update. *)
Answer(x) ==
  /\ flight' = [flight EXCEPT ![x] = NoFlight]
  /\ reg' = [reg EXCEPT ![x] =
       IF reg[x].epoch = flight[x].gcn /\ Writes(x)
       THEN Renewed(reg[x], x, flight[x].lset, flight[x].phase, IF Rule("3-start") THEN flight[x].age ELSE 0)
       ELSE reg[x]]
  /\ UNCHANGED <<st, clock, hist>>

(* Rule 14: an unknown addition counts as made, an unknown removal as not made.  Rule 3: an unknown
   outcome does not renew the lease. *)
Doubted(L, x, f) ==
  [L EXCEPT !.maybe = IF f.kind = "add" /\ Rule("14-add") THEN L.maybe \cup {f.arg} ELSE L.maybe,
            !.known = IF f.kind = "remove" /\ ~Rule("14-remove") THEN L.known \ {f.arg} ELSE L.known,
            !.lease = IF Rule("3-unknown") THEN L.lease ELSE FullLease]

MayLose(x) == hist.unknown < MaxUnknown /\ flight[x].stage \in {"sent", "landed"}

Lose(x) ==
  /\ flight' = [flight EXCEPT ![x] = IF flight[x].stage = "sent" THEN [flight[x] EXCEPT !.stage = "ghost", !.age = 0]
                                     ELSE NoFlight]
  /\ reg' = [reg EXCEPT ![x] = IF Writes(x) THEN Doubted(reg[x], x, flight[x]) ELSE reg[x]]
  /\ hist' = [hist EXCEPT !.unknown = hist.unknown + 1]
  /\ UNCHANGED <<st, clock>>

(* Rule 3: a read that names it the writer renews nothing. *)
MayRenewByRead(x) == ~Rule("3-read") /\ Writes(x) /\ st.writer = x /\ st.gcn = reg[x].epoch

RenewByRead(x) ==
  /\ reg' = [reg EXCEPT ![x] = [reg[x] EXCEPT !.lease = FullLease]]
  /\ UNCHANGED <<st, flight, clock, hist>>

(* A crash and the return, after any time: a region that is down is one that takes no steps.
   What is on disk stays: the log, the epoch, what is known of the GCLSN. *)
MayRestart(x) == x \in Restarters /\ hist.restarts < MaxRestarts

(* Only if its first own update can find it the writer. *)
BootMatters(x) == st.writer = x \/ (st.target = x /\ On("other"))

Restarted(L, x) ==
  [Reader EXCEPT !.log = L.log, !.epoch = L.epoch, !.gclsn = L.gclsn,
                 !.lease = IF Rule("3-restart") \/ L.mode = "R" THEN 0 ELSE FullLease,
                 !.mode = IF Rule("3-restart") THEN "R" ELSE L.mode,
                 !.cset = IF Rule("3-restart") THEN {} ELSE L.cset,
                 !.boot = BootMatters(x),
                 !.hold = IF BootMatters(x) THEN WaitTicks ELSE 0,
                 !.heldBy = IF BootMatters(x) THEN "restart" ELSE ""]

(* Rule 2: what an earlier incarnation sent is ignored. *)
Restart(x) ==
  /\ reg' = [reg EXCEPT ![x] = Restarted(reg[x], x)]
  /\ flight' = [flight EXCEPT ![x] = IF Rule("2") \/ flight[x].stage \in {"none", "landed"} THEN NoFlight
                                     ELSE [flight[x] EXCEPT !.stage = "ghost", !.fresh = FALSE, !.age = 0]]
  /\ hist' = [hist EXCEPT !.restarts = hist.restarts + 1]
  /\ UNCHANGED <<st, clock>>

(* A region that was named the writer without knowing it. *)
MayObserve(x) == st.writer = x /\ reg[x].epoch < st.gcn

Observe(x) ==
  /\ reg' = [reg EXCEPT ![x] = Fenced(reg[x], st.gcn)]
  /\ UNCHANGED <<st, flight, clock, hist>>

(* A region that is not the writer and changes the lease set (rule 1). *)
MayMeddle(x, m) == ~Rule("1") /\ x # st.writer /\ reg[x].epoch = st.gcn /\ st.writer # 0 /\ m \notin st.lset

Meddle(x, m) ==
  /\ st' = [st EXCEPT !.lset = st.lset \cup {m}]
  /\ UNCHANGED <<reg, flight, clock, hist>>

-----------------------------------------------------------------------------
(* Ungraceful failover. *)

Raised(cause) ==
  [st EXCEPT !.gcn = st.gcn + 1, !.writer = 0, !.phase = "Ungraceful", !.target = 0,
             !.reported = IF Rule("7-clear") THEN {} ELSE st.reported,
             !.progress = IF Rule("7-clear") THEN [x \in Regions |-> NoProgress] ELSE st.progress,
             !.final = <<>>, !.cause = cause, !.stops = IF Rule("22-raise") THEN {} ELSE st.stops]

(* Rule 4: for the silence of the writer. *)
MayRaise(x) ==
  /\ st.gcn < LastGcn
  /\ st.writer # 0
  /\ x # st.writer
  /\ reg[x].epoch = st.gcn
  /\ clock.silence >= SilenceTicks \/ (st.phase = "Graceful" /\ ~Rule("20"))

Raise(x) ==
  /\ st' = Raised("silence")
  /\ clock' = [silence |-> 0, since |-> 0]
  /\ UNCHANGED <<reg, flight, hist>>

(* Rule 12: a raise that does not wait for silence.  If it finds no writer, the record of the one
   before stands. *)
MayForce == On("forced") /\ st.gcn < LastGcn

Force ==
  /\ st' = Raised(IF st.writer # 0 THEN "forced" ELSE IF Rule("12-keep") THEN st.cause ELSE "silence")
  /\ clock' = [silence |-> 0, since |-> IF st.writer = 0 THEN clock.since
                                        ELSE IF Rule("12-triple") THEN clock.silence ELSE WaitTicks]
  /\ UNCHANGED <<reg, flight, hist>>

(* Rule 22: a region that stops on purpose drops its rights and says so. *)
MayStop(x) == On("stop") /\ x \in Restarters /\ hist.restarts < MaxRestarts /\ reg[x].epoch = st.gcn

Stop(x) ==
  /\ st' = [st EXCEPT !.stops = st.stops \cup {x}]
  /\ reg' = [reg EXCEPT ![x] = Restarted(reg[x], x)]
  /\ flight' = [flight EXCEPT ![x] = NoFlight]
  /\ hist' = [hist EXCEPT !.restarts = hist.restarts + 1]
  /\ UNCHANGED clock

(* It needs no silence to replace a writer that has stopped; but the grants it gave still run. *)
MayRaiseStopped(x) ==
  st.gcn < LastGcn /\ st.writer # 0 /\ x # st.writer /\ reg[x].epoch = st.gcn /\ st.writer \in st.stops

RaiseStopped(x) ==
  /\ st' = Raised(IF Rule("22-grants") THEN "forced" ELSE "silence")
  /\ clock' = [silence |-> 0, since |-> clock.silence]
  /\ UNCHANGED <<reg, flight, hist>>

(* An own update that finds another writer, or none: the restart is over. *)
Booted(L) == IF L.boot THEN [L EXCEPT !.boot = FALSE, !.hold = 0, !.heldBy = ""] ELSE L

(* The heartbeat of a region that does not write: a report under the current GCN, after fencing.
   The next incarnation's first update clears the stop mark. *)
MayHello(x) ==
  On("hello") /\ st.phase # "Ungraceful" /\ x # st.writer /\ (x \notin st.reported \/ x \in st.stops)

Hello(x) ==
  /\ st' = [st EXCEPT !.reported = st.reported \cup {x},
                      !.stops = Unmarked(x)]
  /\ reg' = [reg EXCEPT ![x] = Booted(Fenced(reg[x], st.gcn))]
  /\ UNCHANGED <<flight, clock, hist>>

(* Rule 7: fence, then report.  Rule 2: under the current GCN. *)
MayReport(x) ==
  /\ x \notin st.reported
  /\ st.phase = "Ungraceful"

Report(x) ==
  /\ st' = [st EXCEPT !.reported = st.reported \cup {x}, !.stops = Unmarked(x),
                      !.progress = [st.progress EXCEPT ![x] = Progress(reg[x].log)]]
  /\ reg' = [reg EXCEPT ![x] = IF Rule("7-fence") THEN Booted(Fenced(reg[x], st.gcn)) ELSE reg[x]]
  /\ UNCHANGED <<flight, clock, hist>>

(* Rules 9, 10, 11. *)
Eligible ==
  IF Weak \/ ~Rule("9") THEN st.reported ELSE st.reported \cap st.lset

ReachesEnough(x) == Cardinality({y \in st.reported : y = x \/ Linked(x, y)}) >= MinDurability

Reaching(set) == {x \in set : ReachesEnough(x)}
Reachers(set) == IF Rule("11-reach") /\ Reaching(set) # {} THEN Reaching(set) ELSE set

Highest(set) == {x \in set : \A y \in set : AtLeast(st.progress[x], st.progress[y])}

(* Where commits wait for nobody, what the elected one lacks is lost, and it renews its lease alone: the
   highest progress comes first. *)
Candidates ==
  IF ~Rule("11") THEN Eligible
  ELSE IF Weak /\ Rule("11-weak") THEN Reachers(Highest(Eligible))
  ELSE Highest(Reachers(Eligible))

MayElect ==
  /\ st.phase = "Ungraceful"
  /\ Eligible # {}
  /\ Rule("10") \/ Cardinality(Eligible) >= MinDurability

Preferred(set) == IF st.preferred \in set THEN st.preferred ELSE CHOOSE x \in set : \A y \in set : x <= y

NewLeaseSet ==
  IF Cardinality(Eligible) >= MinDurability THEN (IF Rule("9-set") THEN Eligible ELSE st.reported)
  ELSE IF Rule("10-keep") THEN st.lset \cup (IF Weak THEN Eligible ELSE {}) ELSE Eligible

Elected(x, log) ==
     /\ st' = [st EXCEPT !.writer = x, !.phase = "Steady", !.lset = NewLeaseSet,
                         !.progress = IF Rule("7-clear") THEN [y \in Regions |-> NoProgress] ELSE st.progress]
     /\ clock' = [clock EXCEPT !.silence = 0]
     /\ hist' = [hist EXCEPT
          !.elected = IF x \in st.lset \/ Weak THEN hist.elected ELSE "outside",
          !.needless = hist.needless \/ \E y \in Eligible :
                         Cardinality(Entries(hist.acked) \cap Entries(reg[y].log))
                         > Cardinality(Entries(hist.acked) \cap Entries(log)),
          !.lost = IF Rule("21") THEN hist.lost \ Entries(log) ELSE hist.lost]
     /\ UNCHANGED <<reg, flight>>

Elect == \E x \in {Preferred(Candidates)} : Elected(x, reg[x].log)

-----------------------------------------------------------------------------
(* Graceful failover.  A changed list of priorities begins it: any region that sees it may. *)

MayStart(x) ==
  /\ On("graceful")
  /\ st.phase = "Steady"
  /\ st.gcn < LastGcn
  /\ hist.gracefuls < MaxGraceful
  /\ reg[x].epoch = st.gcn

(* Rule 19: the target is in the lease set. *)
Targets == (IF Rule("19-target") THEN st.lset ELSE Regions) \ {st.writer}

Start(x, t) ==
  /\ st' = [st EXCEPT !.phase = "Graceful", !.target = t, !.preferred = t,
                      !.final = IF Rule("19-clear") THEN <<>> ELSE st.final]
  /\ hist' = [hist EXCEPT !.gracefuls = hist.gracefuls + 1]
  /\ UNCHANGED <<reg, flight, clock>>

(* Rule 19: the same progress is the same epoch and the same LSN. *)
MaySwitch(x) ==
  /\ st.phase = "Graceful"
  /\ st.target = x
  /\ st.final # <<>>
  /\ reg[x].epoch = st.gcn
  /\ IF Rule("19-epoch") THEN Progress(reg[x].log) = st.final ELSE Len(reg[x].log) = st.final[2]

(* The GCN and the write region move in one step, and the lease set stays. *)
Switched(x) ==
  [st EXCEPT !.gcn = st.gcn + 1, !.writer = x, !.phase = "Steady", !.target = 0, !.final = <<>>,
             !.cause = "graceful", !.reported = {}, !.stops = {}]

Switch(x) ==
  /\ \E s \in {Switched(x)} : \E L \in {OwnUpdate(Fenced(reg[x], st.gcn + 1), x, s)} :
       /\ st' = s
       /\ reg' = [reg EXCEPT ![x] = L]
       /\ hist' = [hist EXCEPT !.acked = AckedBy(L, reg[x].gclsn),
                               !.graceful = IF IsPrefix(reg[st.writer].log, reg[x].log) THEN hist.graceful ELSE "lost"]
  /\ clock' = [silence |-> 0, since |-> 0]
  /\ UNCHANGED flight

(* The same by the update of another region: the new writer does not know of it. *)
MaySwitchByOther(x) == On("other") /\ MaySwitch(x)

SwitchByOther(x) ==
  /\ st' = Switched(x)
  /\ clock' = [silence |-> 0, since |-> 0]
  /\ hist' = [hist EXCEPT !.graceful = IF IsPrefix(reg[st.writer].log, reg[x].log) THEN hist.graceful ELSE "lost"]
  /\ UNCHANGED <<reg, flight>>

(* Rule 19: writes resume only on an own update that shows Steady. *)
MayResume(x) == ~Rule("19-resume") /\ reg[x].mode = "Q" /\ reg[x].lease > 0

Resume(x) ==
  /\ reg' = [reg EXCEPT ![x] = [reg[x] EXCEPT !.mode = "W"]]
  /\ UNCHANGED <<st, flight, clock, hist>>

-----------------------------------------------------------------------------
(* Time. *)

Down(n) == IF n > 0 THEN n - 1 ELSE 0
Up(n) == IF n < WaitTicks THEN n + 1 ELSE n

Aged(f) ==
  IF f.stage \in {"sent", "landed"} THEN [f EXCEPT !.age = Least(f.age + 1, FullLease)] ELSE f

Ticked(L) == [L EXCEPT !.lease = Down(L.lease), !.hold = Down(L.hold)]
TickedGrants(L) == [L EXCEPT !.grant = Down(L.grant), !.given = [m \in Regions |-> Down(L.given[m])]]

Tick ==
  /\ reg' = [x \in Regions |-> IF On("reads") THEN TickedGrants(Ticked(reg[x])) ELSE Ticked(reg[x])]
  /\ flight' = [x \in Regions |-> Aged(flight[x])]
  /\ clock' = [silence |-> IF st.writer # 0 THEN Up(clock.silence) ELSE clock.silence,
               since |-> IF st.cause = "forced" THEN Up(clock.since) ELSE 0]
  /\ UNCHANGED <<st, hist>>

MayTick ==
  \/ \E x \in Regions : reg[x].lease > 0 \/ reg[x].grant > 0 \/ reg[x].hold > 0
  \/ st.writer # 0 /\ clock.silence < WaitTicks
  \/ st.cause = "forced" /\ clock.since < WaitTicks

Writers == {x \in Regions : Writes(x)}

Replication ==
  \E w \in Writers :
    \/ \E m \in {y \in Regions : MayReplicate(w, y)} : Replicate(w, m)
    \/ On("change") /\ \E m \in {y \in Regions : MayJoin(w, y)} : Join(w, m)
    \/ \E m \in {y \in reg[w].cset : MayLeave(w, y)} : Leave(w, m)

Updating ==
  \/ \E x \in {y \in Regions : MayUpdate(y)} : \E ask \in Asks(x) : Update(x, ask)
  \/ \E x \in {y \in Regions : MayObserve(y)} : Observe(x)
  \/ \E x \in {y \in Slow : MayBegin(y)} : \E ask \in {<<"beat", 0>>} \cup Changes(x) : Begin(x, ask)
  \/ \E x \in {y \in Slow : MayLand(y)} : Land(x)
  \/ \E x \in {y \in Slow : flight[y].stage = "landed"} : Answer(x)
  \/ \E x \in {y \in Slow : MayLose(y)} : Lose(x)
  \/ \E x \in {y \in Restarters : MayRestart(y)} : Restart(x)

Ungraceful ==
  \/ \E x \in {y \in Regions : MayRaise(y)} : Raise(x)
  \/ st.phase = "Ungraceful" /\ \E x \in {y \in Regions : MayReport(y)} : Report(x)
  \/ st.phase = "Ungraceful" /\ MayElect /\ Elect

Reading ==
  \/ \E w \in Writers : \E m \in {y \in Regions : MayGrant(w, y)} : Grant(w, m)
  \/ \E x \in {y \in Regions : MayRead(y)} : Read(x)

Graceful ==
  \/ \E x \in {y \in Regions : MayStart(y)} : \E t \in Targets : Start(x, t)
  \/ \E x \in {y \in Regions : MaySwitch(y)} : Switch(x)
  \/ \E x \in {y \in Regions : MaySwitchByOther(y)} : SwitchByOther(x)

Stopping ==
  \/ \E x \in {y \in Restarters : MayStop(y)} : Stop(x)
  \/ \E x \in {y \in Regions : MayRaiseStopped(y)} : RaiseStopped(x)

(* Steps that a rule forbids. *)
Forbidden ==
  \/ \E x \in {y \in Regions : MayRenewByRead(y)} : RenewByRead(x)
  \/ \E x \in {y \in Regions : MayResume(y)} : Resume(x)
  \/ \E x \in Regions : \E m \in {y \in Regions : MayMeddle(x, y)} : Meddle(x, m)

Step ==
  \/ MayTick /\ Tick
  \/ \E x \in {y \in Regions : MayWrite(y)} : Write(x)
  \/ Replication
  \/ Updating
  \/ Ungraceful
  \/ On("reads") /\ Reading
  \/ On("graceful") /\ Graceful
  \/ On("forced") /\ MayForce /\ Force
  \/ On("stop") /\ Stopping
  \/ On("hello") /\ \E x \in {y \in Regions : MayHello(y)} : Hello(x)
  \/ Without # {} /\ Forbidden

-----------------------------------------------------------------------------
(* Healing.  From some moment on nothing fails any more, except what was broken for good, and steps
   are taken in time: a tick passes only when every region that reaches the register has made its
   update, and nothing is left to replicate.  So ticks measure an outage. *)

Reach(w) == {m \in Regions : m = w \/ Linked(w, m)}

(* Nothing helps when all who may be elected are gone. *)
Recoverable == Weak \/ (st.lset \ Dead) \ CutRegister # {}

MayHeal == On("heal") /\ ~heal.on /\ Recoverable /\ \A x \in Regions : flight[x].stage = "none"

Heal ==
  /\ heal' = [on |-> TRUE, due |-> (Regions \ Dead) \ CutRegister, stable |-> 0]
  /\ UNCHANGED <<st, reg, flight, clock, hist>>

(* The writer includes who can be reached, drops who cannot. *)
HealedJoins(w) == {m \in Reach(w) : MayJoin(w, m)}
HealedLeaves(w) == {m \in Regions \ Reach(w) : MayLeave(w, m)}
HealedCopies(w) == {m \in Reach(w) : MayReplicate(w, m)}
HealedWriters == {x \in Regions : Alive(x) /\ Writes(x)}

(* The settle time: everybody who can has reported. *)
HealedElection == MayElect /\ \A x \in Regions : Registered(x) => x \in st.reported

(* What the writer asks for: a graceful failover is ended, one way or the other (rule 20); then
   additions before removals (rule 10). *)
Adds(x) == {a \in Changes(x) : a[1] = "add" /\ a[2] \in Reach(x)}
Removals(x) == {a \in Changes(x) : a[1] = "remove" /\ a[2] \notin Reach(x)}

Wish(x) ==
  IF reg[x].mode = "Q" /\ st.phase = "Graceful"
  THEN IF (st.target \notin Reach(x) \/ ~Registered(st.target)) /\ Rule("20-abort") THEN {<<"abort", 0>>}
       ELSE IF MayFinish(x) THEN {<<"final", 0>>} ELSE {<<"beat", 0>>}
  ELSE IF Adds(x) # {} THEN Adds(x)
  ELSE IF Removals(x) # {} /\ Cardinality(reg[x].known) > MinDurability THEN Removals(x)
  ELSE {<<"beat", 0>>}

(* Rule 8: a writer that reaches too few does not renew. *)
Renews(x) == Cardinality(Reach(x)) >= MinDurability \/ ~Rule("8")

Idle(x) ==
  /\ reg' = [reg EXCEPT ![x] = Fenced(reg[x], st.gcn)]
  /\ UNCHANGED <<st, flight, clock, hist>>

TurnOf(x) ==
  IF MayUpdate(x) THEN (IF Renews(x) THEN \E ask \in Wish(x) : Update(x, ask) ELSE Idle(x))
  ELSE IF MayReport(x) THEN Report(x)
  ELSE IF MayRaise(x) THEN Raise(x)
  ELSE IF MaySwitch(x) THEN Switch(x)
  ELSE Idle(x)

Turn(x) == heal' = [heal EXCEPT !.due = heal.due \ {x}] /\ TurnOf(x)

HealedTick ==
  /\ Tick
  /\ heal' = [heal EXCEPT !.due = (Regions \ Dead) \ CutRegister,
                          !.stable = IF heal.stable < OutageBound THEN heal.stable + 1 ELSE heal.stable]

First(set) == IF set = {} THEN {} ELSE {CHOOSE x \in set : \A y \in set : x <= y}

Copying == {w \in HealedWriters : HealedCopies(w) # {}}
Joining == {w \in HealedWriters : HealedJoins(w) # {}}
Leaving == {w \in HealedWriters : HealedLeaves(w) # {}}

(* What is urgent comes in a fixed order, then the updates in any order, then the tick. *)
Healed ==
  IF HealedElection THEN Elect /\ UNCHANGED heal
  ELSE IF Copying # {}
  THEN \E w \in First(Copying) : \E m \in First(HealedCopies(w)) : Replicate(w, m) /\ UNCHANGED heal
  ELSE IF Joining # {}
  THEN \E w \in First(Joining) : \E m \in First(HealedJoins(w)) : Join(w, m) /\ UNCHANGED heal
  ELSE IF Leaving # {}
  THEN \E w \in First(Leaving) : \E m \in First(HealedLeaves(w)) : Leave(w, m) /\ UNCHANGED heal
  ELSE IF heal.due # {} THEN \E x \in heal.due : Turn(x)
  ELSE HealedTick

Next ==
  \/ ~heal.on /\ Step /\ UNCHANGED heal
  \/ MayHeal /\ Heal
  \/ heal.on /\ Healed

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Invariants.  The first six are the harm that a missing rule does, and what most of the `fail'
   configurations check; the others say what must hold so that it does not come to that. *)

(* The writer takes writes, and can commit them. *)
TakesWrites(w) == Alive(w) /\ Accepts(w) /\ (Weak \/ reg[w].cset \subseteq Reach(w))

(* The paper's Figure 5.  The history is the count of ticks since the set of regions, and the list of
   priorities, last changed: the moment of healing. *)
WritesEnabledAtEndOfHistoryWhenRegionsSetIsStable ==
  (heal.on /\ heal.stable >= OutageBound) => \E w \in Regions : TakesWrites(w)

(* No two regions accept writes at the same time. *)
OneWriter == \A x \in Regions : \A y \in Regions : (Accepts(x) /\ Accepts(y)) => x = y

Loss == IF st.writer = 0 THEN 0 ELSE Len(hist.acked) - Common(hist.acked, reg[st.writer].log)

(* A Strong acknowledged write is in every later writer's log; at bounded staleness what is not there
   is within the bound. *)
AckedIsKept == Strong => Loss = 0
LossWithinBound == Bounded => Loss <= Staleness

(* The paper's Figure 5, over the pair (previous, last): a strong read never goes back behind an
   earlier one, nor behind an acknowledged write. *)
ReadProperty == Strong => IsPrefix(hist.read[1], hist.read[2])

(* A graceful failover loses nothing, acknowledged or not. *)
GracefulLosesNothing == hist.graceful = "kept"

LeaseSetDurable == Cardinality(st.lset) >= MinDurability
ElectedFromLeaseSet == hist.elected = "in"
WriterInLeaseSet == st.phase = "Steady" => st.writer \in st.lset

(* Rule 21: no write of the current history is in the list of lost writes. *)
LostAreLost == \A e \in hist.lost : st.writer # 0 => e \notin Entries(reg[st.writer].log)

(* Rule 11: an election loses no acknowledged write that an eligible reporter has. *)
NoNeedlessLoss == ~hist.needless

(* Rule 14. *)
CommitSetCoversLeaseSet ==
  \A x \in Regions : (Writes(x) /\ st.writer = x /\ reg[x].epoch = st.gcn /\ Strong) => st.lset \subseteq reg[x].cset

(* What IsPrefix and Common rest on. *)
LogsMatch ==
  \A x \in Regions : \A y \in Regions : \A i \in 1 .. Least(Len(reg[x].log), Len(reg[y].log)) :
    reg[x].log[i] = reg[y].log[i] => Prefix(reg[x].log, i) = Prefix(reg[y].log, i)

TypeOK ==
  /\ st.gcn \in 1 .. MaxGcn
  /\ st.writer \in {0} \cup Regions
  /\ st.phase \in {"Steady", "Graceful", "Ungraceful"}
  /\ (st.phase = "Ungraceful") <=> (st.writer = 0)
  /\ (st.phase = "Graceful") <=> (st.target # 0)
  /\ st.lset \subseteq Regions
  /\ \A x \in Regions : reg[x].epoch \in 1 .. st.gcn /\ reg[x].gclsn <= Len(reg[x].log)
  /\ \A x \in Regions : reg[x].mode = "R" => reg[x].lease = 0
  /\ \A x \in Regions : Writes(x) => reg[x].grant = 0

-----------------------------------------------------------------------------
(* Situations that the model must be able to reach: `reach' configurations check Not.. and expect it
   to fail. *)

(* The phases, and the service statuses of the paper. *)
Quiesced == \E x \in Regions : reg[x].mode = "Q" /\ st.phase = "Graceful"
NotQuiesced == ~Quiesced
FinalReported == st.phase = "Graceful" /\ st.final # <<>>
NotFinalReported == ~FinalReported
SwitchedGracefully == st.phase = "Steady" /\ st.cause = "graceful" /\ Len(hist.acked) = 2
NotSwitchedGracefully == ~SwitchedGracefully
AllDisallowed == st.phase = "Ungraceful" /\ \A x \in Regions : reg[x].epoch = st.gcn
NotAllDisallowed == ~AllDisallowed

(* A write by a second and by a third writer. *)
ThirdWriterAcks == Len(hist.acked) > 0 /\ hist.acked[Len(hist.acked)] = 3
NotThirdWriterAcks == ~ThirdWriterAcks

(* The one that was elected fails too, and the last region takes over. *)
DoubleFailure ==
  st.gcn = 3 /\ st.cause = "silence" /\ st.reported = {3} /\ st.writer = 3 /\ Accepts(3) /\ reg[2].epoch = 2
NotDoubleFailure == ~DoubleFailure

(* A graceful failover fails: back to Steady with the same writer; or the writer falls silent. *)
GracefulGivenUp == hist.gracefuls > 0 /\ st.gcn = 1 /\ st.phase = "Steady" /\ Accepts(1) /\ Len(hist.acked) = 1
NotGracefulGivenUp == ~GracefulGivenUp
GracefulTurnsUngraceful == hist.gracefuls > 0 /\ st.gcn = 2 /\ st.cause = "silence" /\ st.phase = "Steady"
NotGracefulTurnsUngraceful == ~GracefulTurnsUngraceful

(* Rule 10: elected by too few, with the old lease set; and that writer takes writes later. *)
ElectedByTooFew == st.gcn > 1 /\ st.phase = "Steady" /\ Cardinality(st.reported) < MinDurability
NotElectedByTooFew == ~ElectedByTooFew
TooFewRecovered == ElectedByTooFew /\ Len(hist.acked) > 0 /\ hist.acked[Len(hist.acked)] = 2
NotTooFewRecovered == ~TooFewRecovered

(* Unknown outcomes: an addition that was made, one that was not, a removal that was made. *)
DoubtfulMade == \E x \in Regions : st.writer = x /\ reg[x].maybe \cap st.lset # {}
NotDoubtfulMade == ~DoubtfulMade
DoubtfulNotMade == \E x \in Regions : st.writer = x /\ reg[x].maybe \ st.lset # {} /\ flight[x].stage = "ghost"
NotDoubtfulNotMade == ~DoubtfulNotMade
RemovedUnknowingly ==
  hist.unknown > 0
  /\ \E x \in Regions : st.writer = x /\ Accepts(x) /\ reg[x].epoch = st.gcn /\ reg[x].known \ st.lset # {}
NotRemovedUnknowingly == ~RemovedUnknowingly
LandsLate == \E x \in Regions : flight[x].stage = "landed" /\ flight[x].age >= FullLease
NotLandsLate == ~LandsLate

(* A region holds entries that the current writer does not have. *)
FalseProgress ==
  st.writer # 0 /\ Len(reg[st.writer].log) > 0 /\ \E x \in Regions : ~IsPrefix(reg[x].log, reg[st.writer].log)
NotFalseProgress == ~FalseProgress

(* A strong read returns what the second epoch wrote; an old writer may still read after a switch. *)
ReadAfterFailover == Len(hist.read[2]) > 0 /\ hist.read[2][Len(hist.read[2])] = 2
NotReadAfterFailover == ~ReadAfterFailover
OldWriterReads == \E x \in Regions : st.cause = "graceful" /\ st.writer # x /\ ReadAtWriter(x)
NotOldWriterReads == ~OldWriterReads

(* A forced failover: its writer waits, and then need not wait any more while the old lease could run. *)
WaitsMuted == \E x \in Regions : reg[x].mode = "W" /\ reg[x].lease > 0 /\ Muted(reg[x])
NotWaitsMuted == ~WaitsMuted
MutedThenWrites == st.cause = "forced" /\ Len(hist.acked) > 0 /\ hist.acked[Len(hist.acked)] = 2
NotMutedThenWrites == ~MutedThenWrites
UnmutedEarly == st.cause = "forced" /\ clock.since < WaitTicks /\ \E x \in Regions : Accepts(x) /\ reg[x].epoch = 2
NotUnmutedEarly == ~UnmutedEarly

(* A writer came back, and holds everybody in its commit set; a writer stopped and was replaced at once. *)
RestartHolds == \E x \in Regions : Accepts(x) /\ reg[x].heldBy = "restart" /\ reg[x].hold > 0 /\ reg[x].cset # st.lset
NotRestartHolds == ~RestartHolds
StoppedReplaced == st.gcn = 2 /\ UnmutedEarly
NotStoppedReplaced == ~StoppedReplaced

(* Loss at the bound, and a write that was lost and came back. *)
LossAtBound == Bounded /\ Loss = Staleness
NotLossAtBound == ~LossAtBound
LostComesBack ==
  st.phase = "Ungraceful" /\ \E e \in hist.lost : \E x \in st.reported : e \in Entries(reg[x].log)
NotLostComesBack == ~LostComesBack

(* After healing, writes are back with a new writer. *)
HealedByFailover == heal.on /\ st.gcn > 1 /\ \E w \in Regions : TakesWrites(w)
NotHealedByFailover == ~HealedByFailover
=============================================================================
