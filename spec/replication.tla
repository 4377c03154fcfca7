---------------------------- MODULE replication -----------------------------
(***************************************************************************)
(* The replication of one partition-set (DESIGN sections 5 and 6; the      *)
(* paper's 2, 4.6 and 5.3): logs, sessions, commits, false progress and    *)
(* its undo, and what clients may read.  Rule numbers are those of DESIGN  *)
(* section 5.  Every guard has a name and can be taken out by it           *)
(* (Without); spec/replication.md has the table of what breaks then.       *)
(*                                                                         *)
(* spec/failover.tla is about how the failover state comes to be what it   *)
(* is: ticks, leases, unknown outcomes, late landings.  Here that machine  *)
(* is as small as it can be, and the data is in full.                      *)
(*                                                                         *)
(* An entry is <<epoch, write>>.  Its epoch is the GCN and, in the low     *)
(* order part, the incarnation of the writer's process.  A write is a      *)
(* number that is never used again, so that entries can be told apart      *)
(* here, though the system tells them by (epoch, LSN) alone.  A log has a  *)
(* durable beginning; a crash loses the rest.                              *)
(*                                                                         *)
(* A reader follows a writer in a session: follow(epoch), the writer's     *)
(* progress table, the undo of what parts from it, ready(lsn).  From then  *)
(* on the writer streams, and the reader acknowledges what is durable.     *)
(* Becoming durable and its acknowledgement are one step, and the commit   *)
(* is another: an acknowledgement that is late is a commit that is late.   *)
(* The commit is also the moment at which the client is told.              *)
(*                                                                         *)
(* Time has no ticks.  A lease or a grant runs until somebody has waited   *)
(* for its end: the wait is a step that ends it.  That loses nothing: a    *)
(* right that ends earlier only allows less.                               *)
(*                                                                         *)
(* Nothing has to happen: a lost message, a cut link, a region that is     *)
(* down are steps that are not taken.  A crash and the return is one step. *)
(*                                                                         *)
(* Reads need no steps: the invariants say what every read that could be   *)
(* served in a state would return.  Only a strong read of something that   *)
(* nobody has acknowledged is a step, because it must not be lost later.   *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Regions,         \* numbers from 1; a lower number is a higher priority
  Consistency,     \* "Strong" or "Session": whether a commit waits for the commit set
  MinDurability,   \* the lease set never has fewer members
  InitialSet,      \* the lease set at the start; region 1 writes
  MaxGcn, MaxWrites, MaxCrashes,
  OtherKey,        \* the writes that are to the second key
  Features,        \* what may happen: see AllFeatures
  Never,           \* steps that are not taken, to keep a configuration small: see AllNever
  Without          \* the names of the guards that are taken out

VARIABLES
  st,       \* the failover state: the value of the register, which is atomic
  reg,      \* for each region what it keeps, on disk and in memory
  wire,     \* for each region an entry on its way to it
  hist      \* history variables: nothing in the system reads them

vars == <<st, reg, wire, hist>>

AllFeatures == {
  "silence",   \* failovers after silence
  "forced",    \* failovers without silence
  "graceful",  \* graceful failovers
  "change",    \* the writer changes the lease set
  "unknown",   \* and does not learn the outcome
  "reads",     \* read grants
  "crash",     \* regions crash, and lose what is not durable
  "wire"}      \* entries take time, may be lost, and may be overtaken

AllNever == {
  "tell",      \* readers do not learn the GCLSN
  "observe"}   \* a region learns of a new epoch only when it reports or is asked to follow

Guards == {
  "5", "6-known", "6-whole", "7-fence", "7-grant", "7-refuse", "9", "9-set", "11", "12", "13", "14-add", "14-remove",
  "15-lease", "15-lease-set", "16-commit", "16-durable", "17", "19-epoch", "21",
  "serve-reader", "serve-writer", "undo-fork", "undo-lsn", "undo-list", "ack-durable", "own-durable",
  "epoch-incarnation", "stream-order", "stream-session", "session-epoch"}

ASSUME Features \subseteq AllFeatures
ASSUME Never \subseteq AllNever
ASSUME Without \subseteq Guards
ASSUME 1 \in InitialSet /\ InitialSet \subseteq Regions

On(feature) == feature \in Features
Rule(name) == name \notin Without

Strong == Consistency = "Strong"
Weak == ~Strong

-----------------------------------------------------------------------------
(* Sequences and progress. *)

Least(a, b) == IF a <= b THEN a ELSE b
Most(a, b) == IF a >= b THEN a ELSE b
Prefix(s, n) == SubSeq(s, 1, n)
Greatest(set) == CHOOSE n \in set : \A k \in set : k <= n

Writes(log) == {log[i][2] : i \in 1 .. Len(log)}

(* Where two histories part, as their progress tables tell it: by epochs and LSNs alone. *)
Common(s, t) ==
  Greatest({n \in 0 .. Least(Len(s), Len(t)) : \A i \in 1 .. n : s[i][1] = t[i][1]})

(* (epoch of the last entry, LSN), and its order. *)
Progress(log) == IF Len(log) = 0 THEN <<0, 0>> ELSE <<log[Len(log)][1], Len(log)>>
AtLeast(p, q) == p[1] > q[1] \/ (p[1] = q[1] /\ p[2] >= q[2])

Keys == IF OtherKey = {} THEN {1} ELSE {1, 2}
KeyOf(write) == IF write \in OtherKey THEN 2 ELSE 1

(* The LSN of the newest entry of a key, 0 if it has none. *)
Newest(log, key) ==
  IF OtherKey = {} THEN Len(log)
  ELSE Greatest({0} \cup {i \in 1 .. Len(log) : KeyOf(log[i][2]) = key})

Zeros == [x \in Regions |-> 0]

-----------------------------------------------------------------------------
(* What a region keeps.  On disk: the log up to dur, epoch (the highest GCN it has fenced itself to),
   life (the incarnation of its process), gclsn (what it knows of it), undone (its list of undone
   writes).  In memory: mode, "W" writes, "Q"
   is quiesced, "R" reads; lease, whether its writer lease may run; cset, the commit set; known, the
   lease set that its last update returned, and maybe, additions of unknown outcome; sess, the readers
   with a session in which they are reconciled; acks, how far each has acknowledged in this epoch;
   taken, the length of the log at takeover; grant, whether its read grant may run, and gave, to whom
   it gave one; wait, for what a whole lease has to pass (rules 12, 13); boot, no own update since the
   crash. *)
Reader == [log |-> <<>>, dur |-> 0, epoch |-> 1, life |-> 1, gclsn |-> 0, undone |-> {}, mode |-> "R",
           lease |-> FALSE, cset |-> {}, known |-> {}, maybe |-> {}, sess |-> {}, acks |-> Zeros,
           taken |-> 0, grant |-> FALSE, gave |-> {}, wait |-> "", boot |-> FALSE]

NoEntry == [from |-> 0, epoch |-> 0, lsn |-> 0, entry |-> <<>>, late |-> FALSE]

(* hist.made has for each write its LSN, its epoch, and the write before it in the log it was written
   to; acked is what clients were told is committed; seen what else strong reads returned; removed and
   undid, which regions left the lease set, and undid something, at any time. *)
Init ==
  /\ st = [gcn |-> 1, writer |-> 1, lset |-> InitialSet, reported |-> {}, cause |-> "silence",
           target |-> 0, final |-> <<>>]
  /\ reg = [x \in Regions |->
              IF x = 1 THEN [Reader EXCEPT !.mode = "W", !.lease = TRUE, !.cset = InitialSet,
                                           !.known = InitialSet]
              ELSE Reader]
  /\ wire = [x \in Regions |-> NoEntry]
  /\ hist = [made |-> <<>>, acked |-> {}, seen |-> {}, crashes |-> 0, undidAcked |-> FALSE,
             switchLost |-> FALSE, removed |-> {}, undid |-> {}]

Writer(x) == reg[x].mode # "R"

(* Rule 12: the wait of a writer that was elected without silence. *)
Muted(L) == L.wait = "forced"

(* The right to accept writes. *)
Accepts(x) == reg[x].mode = "W" /\ reg[x].lease /\ ~Muted(reg[x])

-----------------------------------------------------------------------------
(* The log: writing, becoming durable, following, streaming. *)

(* What becomes durable closes its entries in the list of undone writes, in the same transaction
   (rule 21). *)
Durable(L) ==
  [L EXCEPT !.dur = Len(L.log),
            !.undone = IF Rule("21") THEN L.undone \ Writes(L.log) ELSE L.undone]

Longer(L, entry) == [L EXCEPT !.log = Append(L.log, entry)]
Appended(copy, new) == IF On("crash") THEN Longer(copy, new) ELSE Durable(Longer(copy, new))

MayWrite(x) == Accepts(x) /\ Len(hist.made) < MaxWrites

(* A writer that crashed and came back may have lost entries that others have: what it writes then has
   another epoch. *)
OwnEpoch(x) == 10 * reg[x].epoch + (IF Rule("epoch-incarnation") THEN reg[x].life ELSE 0)

Write(x) ==
  \E n \in {Len(reg[x].log)} : \E epoch \in {OwnEpoch(x)} :
    /\ reg' = [reg EXCEPT ![x] = Appended(reg[x], <<epoch, Len(hist.made) + 1>>)]
    /\ hist' = [hist EXCEPT !.made =
         Append(hist.made, <<n + 1, epoch, IF n = 0 THEN 0 ELSE reg[x].log[n][2]>>)]
    /\ UNCHANGED <<st, wire>>

(* An acknowledgement goes to whoever has the session.  Rule 5: without it, also to a writer of
   this epoch with whom the region is not reconciled. *)
Hears(w, m) == m \in reg[w].sess \/ (~Rule("5") /\ Writer(w) /\ w # m /\ reg[w].epoch = reg[m].epoch)

Told(L, m, n) == [L EXCEPT !.acks = [L.acks EXCEPT ![m] = n]]

MaySync(x) == reg[x].dur < Len(reg[x].log)

Sync(x) ==
  /\ reg' = [y \in Regions |-> IF y = x THEN Durable(reg[x])
                               ELSE IF Hears(y, x) THEN Told(reg[y], x, Len(reg[x].log))
                               ELSE reg[y]]
  /\ UNCHANGED <<st, wire, hist>>

(* Rule 5 taken out: a region acknowledges its log as it is. *)
MayBlurt(w, m) ==
  ~Rule("5") /\ Hears(w, m) /\ reg[w].acks[m] < Least(reg[m].dur, Len(reg[w].log))

Blurt(w, m) ==
  /\ reg' = [reg EXCEPT ![w] = Told(reg[w], m, Least(reg[m].dur, Len(reg[w].log)))]
  /\ UNCHANGED <<st, wire, hist>>

(* Rule 7: drop the rights of older epochs, and refuse them from now on. *)
Fenced(L, gcn) ==
  IF L.epoch >= gcn THEN L
  ELSE [L EXCEPT !.epoch = gcn, !.mode = "R", !.lease = FALSE, !.cset = {}, !.known = {}, !.maybe = {},
                 !.sess = {}, !.acks = Zeros, !.taken = 0, !.gave = {}, !.wait = "", !.boot = FALSE,
                 !.grant = L.grant /\ ~Rule("7-grant")]

Left(L, m) == IF Rule("7-refuse") THEN [L EXCEPT !.sess = L.sess \ {m}] ELSE L

(* A reader's session with a writer: where the histories part, the undo, ready.  The undo is durable
   and lists what it takes away, in one transaction. *)
MayFollow(w, m) ==
  /\ m # w
  /\ Writer(w)
  /\ reg[m].epoch <= reg[w].epoch
  /\ m \notin reg[w].sess \/ ~Rule("undo-fork")

Keep(w, m) ==
  IF ~Rule("undo-lsn") THEN Least(Len(reg[w].log), Len(reg[m].log))
  ELSE IF ~Rule("undo-fork") THEN Least(reg[m].gclsn, Common(reg[w].log, reg[m].log))
  ELSE Common(reg[w].log, reg[m].log)

Undone(L, keep, gone) ==
  [L EXCEPT !.log = Prefix(L.log, keep), !.dur = keep, !.gclsn = Least(L.gclsn, keep),
            !.undone = IF Rule("undo-list") THEN L.undone \cup gone ELSE L.undone]

(* What was sent in an older session counts for nothing. *)
Late(sent) == IF sent.from = 0 THEN sent ELSE [sent EXCEPT !.late = TRUE]

Follow(w, m) ==
  \E keep \in {Keep(w, m)} : \E gone \in {Writes(reg[m].log) \ Writes(Prefix(reg[m].log, keep))} :
    /\ reg' = [y \in Regions |->
         IF y = m THEN Durable(Undone(Fenced(reg[m], reg[w].epoch), keep, gone))
         ELSE IF y = w THEN Told([reg[w] EXCEPT !.sess = reg[w].sess \cup {m}], m, keep)
         ELSE Left(reg[y], m)]
    /\ hist' = [hist EXCEPT !.undidAcked = hist.undidAcked
                                           \/ (gone \cap hist.acked # {} /\ (st.writer = w \/ m \in st.lset)),
                            !.undid = IF gone = {} THEN hist.undid ELSE hist.undid \cup {m}]
    /\ wire' = [wire EXCEPT ![m] = Late(wire[m])]
    /\ UNCHANGED st

(* The writer streams what is in its log, durable or not. *)
MayShip(w, m) == m \in reg[w].sess /\ Len(reg[m].log) < Len(reg[w].log)

(* What the reader gets, and what its writer hears of it. *)
Delivered(w, m, entry) ==
  [y \in Regions |->
     IF y = m THEN Appended(reg[m], entry)
     ELSE IF y = w /\ (~On("crash") \/ ~Rule("ack-durable")) THEN Told(reg[w], m, Len(reg[m].log) + 1)
     ELSE reg[y]]

Ship(w, m) ==
  /\ reg' = Delivered(w, m, reg[w].log[Len(reg[m].log) + 1])
  /\ UNCHANGED <<st, wire, hist>>

(* The same in two steps: sent, and received or dropped.  The writer may be ahead of what arrives. *)
Sendable(w, m) == {n \in 1 .. Len(reg[w].log) : n > Len(reg[m].log)}

Send(w, m, n) ==
  /\ wire' = [wire EXCEPT ![m] = [from |-> w, epoch |-> reg[w].epoch, lsn |-> n, entry |-> reg[w].log[n],
                                   late |-> FALSE]]
  /\ UNCHANGED <<st, reg, hist>>

Welcome(m, e) ==
  /\ m \in reg[e.from].sess
  /\ reg[e.from].epoch = e.epoch
  /\ ~e.late \/ ~Rule("stream-session")
  /\ e.lsn = Len(reg[m].log) + 1 \/ (~Rule("stream-order") /\ e.lsn > Len(reg[m].log))

Receive(m) ==
  /\ wire' = [wire EXCEPT ![m] = NoEntry]
  /\ reg' = IF Welcome(m, wire[m]) THEN Delivered(wire[m].from, m, wire[m].entry) ELSE reg
  /\ UNCHANGED <<st, hist>>

(* The highest LSN that every region of the commit set has, the writer included. *)
Own(copy) == IF Rule("own-durable") THEN copy.dur ELSE Len(copy.log)

Reached(L, x) ==
  IF Weak THEN Own(L)
  ELSE Cardinality({n \in 1 .. Own(L) : \A m \in L.cset \ {x} : L.acks[m] >= n})

MayCommit(x) == Writer(x) /\ reg[x].gclsn < Len(reg[x].log) /\ Reached(reg[x], x) > reg[x].gclsn

Commit(x) ==
  \E n \in {Reached(reg[x], x)} :
    /\ reg' = [reg EXCEPT ![x] = [reg[x] EXCEPT !.gclsn = n]]
    /\ hist' = [hist EXCEPT !.acked = hist.acked \cup Writes(Prefix(reg[x].log, n)),
                            !.seen = hist.seen \ Writes(Prefix(reg[x].log, n))]
    /\ UNCHANGED <<st, wire>>

(* The GCLSN comes with every message of the session. *)
MayTell(w, m) == m \in reg[w].sess /\ reg[m].gclsn < Least(reg[w].gclsn, Len(reg[m].log))

Tell(w, m) ==
  /\ reg' = [reg EXCEPT ![m] = [reg[m] EXCEPT !.gclsn = Least(reg[w].gclsn, Len(reg[m].log))]]
  /\ UNCHANGED <<st, wire, hist>>

(* A crash and the return. *)
Crashed(L, x) ==
  [Reader EXCEPT !.log = Prefix(L.log, L.dur), !.dur = L.dur, !.epoch = L.epoch, !.life = L.life + 1,
                 !.undone = L.undone, !.gclsn = Least(L.gclsn, L.dur), !.boot = st.writer = x]

Crash(x) ==
  /\ reg' = [y \in Regions |-> IF y = x THEN Crashed(reg[x], x) ELSE [reg[y] EXCEPT !.sess = reg[y].sess \ {x}]]
  /\ wire' = [m \in Regions |-> IF m = x \/ wire[m].from = x THEN Late(wire[m]) ELSE wire[m]]
  /\ hist' = [hist EXCEPT !.crashes = hist.crashes + 1]
  /\ UNCHANGED st

-----------------------------------------------------------------------------
(* The commit set, the lease set and the grants. *)

(* Rule 16: the commit set first. *)
MayJoin(w, m) == Accepts(w) /\ m \notin reg[w].cset /\ st.target = 0

Join(w, m) ==
  /\ reg' = [reg EXCEPT ![w] = [reg[w] EXCEPT !.cset = reg[w].cset \cup {m}]]
  /\ UNCHANGED <<st, wire, hist>>

(* One update of the register by the writer is one step here. *)
Current(x) == st.writer = x /\ reg[x].epoch = st.gcn

MayChange(w) == Current(w) /\ reg[w].mode = "W" /\ reg[w].lease /\ st.target = 0

MayAdd(w, m) ==
  /\ MayChange(w)
  /\ m \notin reg[w].known
  /\ m \in reg[w].cset \/ ~Rule("16-commit")
  /\ reg[w].acks[m] >= Most(reg[w].gclsn, reg[w].taken) \/ ~Rule("16-durable")

MayRemove(w, m) ==
  MayChange(w) /\ m \in reg[w].known \ {w} /\ m \in st.lset /\ Cardinality(st.lset) > MinDurability

Known(L, members) == [L EXCEPT !.known = members, !.maybe = {}]

Change(w, lset) ==
  /\ st' = [st EXCEPT !.lset = lset]
  /\ reg' = [reg EXCEPT ![w] = Known(reg[w], lset)]
  /\ hist' = [hist EXCEPT !.removed = hist.removed \cup (st.lset \ lset)]
  /\ UNCHANGED wire

(* Rule 14: an addition of unknown outcome counts as made, a removal as not made. *)
AddUnknown(w, m, made) ==
  /\ st' = IF made THEN [st EXCEPT !.lset = st.lset \cup {m}] ELSE st
  /\ reg' = [reg EXCEPT ![w] = [reg[w] EXCEPT
       !.maybe = IF Rule("14-add") THEN reg[w].maybe \cup {m} ELSE reg[w].maybe]]
  /\ UNCHANGED <<wire, hist>>

RemoveUnknown(w, m, made) ==
  /\ st' = IF made THEN [st EXCEPT !.lset = st.lset \ {m}] ELSE st
  /\ reg' = [reg EXCEPT ![w] = [reg[w] EXCEPT
       !.known = IF Rule("14-remove") THEN reg[w].known ELSE reg[w].known \ {m}]]
  /\ UNCHANGED <<wire, hist>>

(* Rules 12, 13 and 17: out of the commit set last of all, when the waits are over and the grant that
   the region is known to have has run out. *)
MayLeave(w, m) ==
  /\ Writer(w)
  /\ m # w
  /\ m \in reg[w].cset \ reg[w].known
  /\ m \notin reg[w].maybe
  /\ reg[w].wait = "" \/ (~Rule("13") /\ reg[w].wait # "forced")

Leave(w, m) ==
  /\ reg' = [reg EXCEPT ![w] = [reg[w] EXCEPT !.cset = reg[w].cset \ {m}, !.gave = reg[w].gave \ {m}],
                        ![m] = [reg[m] EXCEPT !.grant = reg[m].grant /\ (m \notin reg[w].gave \/ ~Rule("17"))]]
  /\ UNCHANGED <<st, wire, hist>>

(* Rule 15. *)
MayGrant(w, m) ==
  /\ m # w
  /\ Writer(w)
  /\ reg[w].lease
  /\ ~Muted(reg[w])
  /\ m \in reg[w].cset
  /\ m \in reg[w].known \/ ~Rule("15-lease-set")
  /\ reg[m].epoch = reg[w].epoch
  /\ reg[m].mode = "R"
  /\ ~reg[m].grant

Grant(w, m) ==
  /\ reg' = [reg EXCEPT ![m] = [reg[m] EXCEPT !.grant = TRUE],
                        ![w] = [reg[w] EXCEPT !.gave = reg[w].gave \cup {m}]]
  /\ UNCHANGED <<st, wire, hist>>

-----------------------------------------------------------------------------
(* Strong reads of a key. *)

Granted(x, key) ==
  /\ reg[x].grant
  /\ reg[x].mode = "R"
  /\ Newest(reg[x].log, key) <= reg[x].gclsn \/ ~Rule("serve-reader")

(* Rule 6: a new writer knows only the GCLSN it knows, and serves when all it took over is committed
   again. *)
AsWriter(x, key) ==
  /\ Writer(x)
  /\ reg[x].lease
  /\ ~Muted(reg[x])
  /\ reg[x].gclsn >= reg[x].taken \/ ~Rule("6-whole")
  /\ Newest(reg[x].log, key) <= reg[x].gclsn \/ ~Rule("serve-writer")

MayRead(x, key) == Granted(x, key) \/ AsWriter(x, key)

(* What a strong read returns, if it is not known to be committed. *)
Surprises(x) ==
  {reg[x].log[n][2] : n \in {i \in 1 .. Len(reg[x].log) :
     /\ reg[x].log[i][2] \notin hist.acked \cup hist.seen
     /\ i = Newest(reg[x].log, KeyOf(reg[x].log[i][2]))
     /\ MayRead(x, KeyOf(reg[x].log[i][2]))}}

Read(x) ==
  /\ hist' = [hist EXCEPT !.seen = hist.seen \cup Surprises(x)]
  /\ UNCHANGED <<st, reg, wire>>

-----------------------------------------------------------------------------
(* Failover, as small as it can be. *)

(* A region that an own update names the writer: rules 9, 12, 13. *)
Waits(boot, cause, reported) ==
  IF cause = "forced" /\ reported # Regions /\ Rule("12") THEN "forced"
  ELSE IF boot THEN "restart"
  ELSE IF cause = "graceful" THEN "graceful" ELSE ""

StartSet(wait, lset) == IF wait \in {"forced", "restart"} THEN Regions ELSE lset

Named(copy, s, waits) ==
  [Known(copy, s.lset) EXCEPT !.mode = IF s.target = 0 THEN "W" ELSE "Q", !.lease = TRUE, !.boot = FALSE,
                              !.wait = waits, !.cset = StartSet(waits, s.lset), !.grant = FALSE,
                              !.taken = Len(copy.log),
                              !.gclsn = IF Rule("6-known") THEN copy.gclsn ELSE Len(copy.log)]

TakesOver(one, state) == Named(one, state, Waits(one.boot, state.cause, state.reported))

Renewed(copy) ==
  [Known(copy, st.lset) EXCEPT !.lease = TRUE, !.mode = IF st.target = 0 THEN "W" ELSE "Q",
                               !.wait = IF copy.wait = "forced" /\ st.reported = Regions THEN "" ELSE copy.wait]

Updated(x) == IF reg[x].mode = "R" THEN TakesOver(reg[x], st) ELSE Renewed(reg[x])

Update(x) ==
  /\ reg' = [reg EXCEPT ![x] = Updated(x)]
  /\ UNCHANGED <<st, wire, hist>>

(* A whole lease has passed: the rights of older epochs, and those that an earlier incarnation of
   the writer gave, are over. *)
Over(L, x) ==
  IF L.epoch < reg[x].epoch THEN [L EXCEPT !.lease = FALSE, !.grant = FALSE]
  ELSE [L EXCEPT !.grant = L.grant /\ reg[x].wait # "restart"]

Wait(x) ==
  /\ reg' = [y \in Regions |-> IF y = x THEN [reg[x] EXCEPT !.wait = ""] ELSE Over(reg[y], x)]
  /\ UNCHANGED <<st, wire, hist>>

(* Rule 4: silence, for so long that the lease and the grants under it are certainly over. *)
Silenced(L) == [L EXCEPT !.lease = FALSE, !.grant = L.grant /\ ~Rule("15-lease")]

Raised(cause) ==
  [st EXCEPT !.gcn = st.gcn + 1, !.writer = 0, !.reported = {}, !.cause = cause, !.target = 0, !.final = <<>>]

Raise ==
  /\ st' = Raised("silence")
  /\ reg' = [x \in Regions |-> Silenced(reg[x])]
  /\ UNCHANGED <<wire, hist>>

(* Rule 12: a raise without silence; one that finds no writer keeps the cause. *)
Force ==
  /\ st' = Raised(IF st.writer = 0 THEN st.cause ELSE "forced")
  /\ UNCHANGED <<reg, wire, hist>>

(* Rule 7: fence, then report. After a forced failover also those report that come late. *)
MayReport(x) ==
  x \notin st.reported /\ (st.writer = 0 \/ (st.cause = "forced" /\ x # st.writer))

Report(x) ==
  /\ st' = [st EXCEPT !.reported = st.reported \cup {x}]
  /\ reg' = [y \in Regions |-> IF y # x THEN Left(reg[y], x)
                               ELSE IF Rule("7-fence") THEN Fenced(reg[x], st.gcn) ELSE reg[x]]
  /\ UNCHANGED <<wire, hist>>

(* Rules 9, 10 and 11. What is reported is what is durable. *)
Eligible == IF Weak \/ ~Rule("9") THEN st.reported ELSE st.reported \cap st.lset

Reported(x) == Progress(Prefix(reg[x].log, reg[x].dur))

Highest(set) ==
  IF Rule("11") THEN {x \in set : \A y \in set : AtLeast(Reported(x), Reported(y))} ELSE set

Candidate(set) == CHOOSE x \in Highest(set) : \A y \in Highest(set) : x <= y

Elect ==
  \E set \in {Eligible} :
    /\ set # {}
    /\ st' = [st EXCEPT !.writer = Candidate(set),
                        !.lset = IF Cardinality(set) < MinDurability THEN st.lset \cup (IF Weak THEN set ELSE {})
                                 ELSE IF Rule("9-set") THEN set ELSE st.reported]
    /\ UNCHANGED <<reg, wire, hist>>

(* A region learns of the new epoch from its own heartbeat. *)
MayObserve(x) == st.writer # 0 /\ reg[x].epoch < st.gcn /\ (x = st.writer \/ "observe" \notin Never)

Observe(x) ==
  /\ reg' = [y \in Regions |-> IF y = x THEN Fenced(reg[x], st.gcn) ELSE Left(reg[y], x)]
  /\ UNCHANGED <<st, wire, hist>>

(* Graceful: start, quiesce (an own update), final report, switch; or given up. *)
MayStart(x) == st.writer # 0 /\ st.target = 0 /\ st.gcn < MaxGcn /\ x \in st.lset \ {st.writer}

Start(x) ==
  /\ st' = [st EXCEPT !.target = x]
  /\ UNCHANGED <<reg, wire, hist>>

(* Rule 18: pending changes, and the wait of rule 12, are finished before. *)
MayFinish(x) ==
  /\ Current(x)
  /\ ~Muted(reg[x])
  /\ st.target # 0
  /\ st.final = <<>>
  /\ reg[x].mode = "Q"
  /\ reg[x].dur = Len(reg[x].log)
  /\ reg[x].cset = st.lset
  /\ reg[x].maybe = {}

Finish(x) ==
  /\ st' = [st EXCEPT !.final = Progress(reg[x].log)]
  /\ reg' = [reg EXCEPT ![x] = Renewed(reg[x])]
  /\ UNCHANGED <<wire, hist>>

GiveUp ==
  /\ st' = [st EXCEPT !.target = 0, !.final = <<>>]
  /\ UNCHANGED <<reg, wire, hist>>

(* Rule 19: the same progress is the same epoch and the same LSN. *)
MaySwitch(x) ==
  /\ st.target = x
  /\ st.final # <<>>
  /\ reg[x].epoch = st.gcn
  /\ reg[x].dur = Len(reg[x].log)
  /\ IF Rule("19-epoch") THEN Progress(reg[x].log) = st.final ELSE Len(reg[x].log) = st.final[2]

Switch(x) ==
  /\ \E s \in {[Raised("graceful") EXCEPT !.writer = x]} :
       /\ st' = s
       /\ reg' = [y \in Regions |-> IF y = x THEN TakesOver(Fenced(reg[x], s.gcn), s) ELSE Left(reg[y], x)]
  /\ hist' = [hist EXCEPT !.switchLost = hist.switchLost
                                         \/ ~(Writes(reg[st.writer].log) \subseteq Writes(reg[x].log))]
  /\ UNCHANGED wire

-----------------------------------------------------------------------------

Writers == {x \in Regions : Writer(x)}

Streaming(w) ==
  \/ \E m \in {y \in Regions : MayFollow(w, y)} : Follow(w, m)
  \/ ~On("wire") /\ \E m \in {y \in reg[w].sess : MayShip(w, y)} : Ship(w, m)
  \/ On("wire") /\ \E m \in {y \in reg[w].sess : wire[y].from = 0} : \E n \in Sendable(w, m) : Send(w, m, n)
  \/ "tell" \notin Never /\ \E m \in {y \in reg[w].sess : MayTell(w, y)} : Tell(w, m)
  \/ MayCommit(w) /\ Commit(w)

Changing(w) ==
  \/ \E m \in {y \in Regions : MayJoin(w, y)} : Join(w, m)
  \/ \E m \in {y \in Regions : MayAdd(w, y)} : Change(w, st.lset \cup {m})
  \/ \E m \in {y \in Regions : MayRemove(w, y)} : Change(w, st.lset \ {m})

Guessing(w) ==
  \/ \E m \in {y \in Regions : MayAdd(w, y)} : \E made \in BOOLEAN : AddUnknown(w, m, made)
  \/ \E m \in {y \in Regions : MayRemove(w, y)} : \E made \in BOOLEAN : RemoveUnknown(w, m, made)

Graceful ==
  \/ \E x \in {y \in Regions : MayStart(y)} : Start(x)
  \/ \E x \in {y \in Writers : MayFinish(y)} : Finish(x)
  \/ \E x \in {y \in Regions : MaySwitch(y)} : Switch(x)
  \/ st.target # 0 /\ GiveUp

Failover ==
  \/ On("silence") /\ st.writer # 0 /\ st.gcn < MaxGcn /\ Raise
  \/ On("forced") /\ st.gcn < MaxGcn /\ Force
  \/ \E x \in {y \in Regions : MayReport(y)} : Report(x)
  \/ st.writer = 0 /\ Elect
  \/ \E x \in {y \in Regions : MayObserve(y)} : Observe(x)
  \/ \E x \in {y \in Regions : Current(y) /\ Updated(y) # reg[y]} : Update(x)
  \/ \E x \in {y \in Writers : reg[y].wait # ""} : Wait(x)
  \/ On("graceful") /\ Graceful

Next ==
  \/ \E x \in {y \in Writers : MayWrite(y)} : Write(x)
  \/ On("crash") /\ \E x \in {y \in Regions : MaySync(y)} : Sync(x)
  \/ hist.crashes < MaxCrashes /\ \E x \in Regions : Crash(x)
  \/ On("wire") /\ \E x \in {y \in Regions : wire[y].from # 0} : Receive(x)
  \/ \E w \in Writers : Streaming(w)
  \/ On("change") /\ \E w \in Writers : Changing(w)
  \/ On("unknown") /\ \E w \in Writers : Guessing(w)
  \/ \E w \in Writers : \E m \in {y \in reg[w].cset : MayLeave(w, y)} : Leave(w, m)
  \/ On("reads") /\ \E w \in Writers : \E m \in {y \in Regions : MayGrant(w, y)} : Grant(w, m)
  \/ Strong /\ \E x \in {y \in Regions : Surprises(y) # {}} : Read(x)
  \/ Failover
  \/ ~Rule("5") /\ \E w \in Writers : \E m \in {y \in Regions : MayBlurt(w, y)} : Blurt(w, m)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* The levels of consistency, over what clients were told and can read. *)

Lsn(write) == hist.made[write][1]
EpochOf(write) == hist.made[write][2]

(* What a copy serves at all: nothing above the GCLSN it knows. *)
Visible(x) == Least(reg[x].gclsn, Len(reg[x].log))
Served(x) == Prefix(reg[x].log, Visible(x))

(* Strong: a strong read returns at least the latest write of its key that was acknowledged, or that
   another strong read returned, before it began; *)
StrongRead ==
  \A x \in Regions : \A key \in Keys : (Strong /\ MayRead(x, key)) =>
    \A write \in hist.acked \cup hist.seen : KeyOf(write) = key => write \in Writes(reg[x].log)

(* and nothing that is lost later. *)
ReadIsKept == \A write \in hist.seen : st.writer # 0 => write \in Writes(reg[st.writer].log)

(* An acknowledged Strong write is in every later writer's log. *)
AckedIsKept ==
  (Strong /\ st.writer # 0) => hist.acked \subseteq Writes(reg[st.writer].log)

(* Session: a token is the (epoch, LSN) of the last write that the client made or saw.  A copy that
   accepts it has that write, and so all before it; every acknowledged or visible write can be
   somebody's token. *)
TakesToken(x, write) ==
  /\ Lsn(write) <= Visible(x)
  /\ Rule("session-epoch") => reg[x].log[Lsn(write)][1] = EpochOf(write)

SessionRead ==
  \A x \in Regions : \A write \in hist.acked : TakesToken(x, write) => write \in Writes(Served(x))

(* Consistent prefix: what a copy serves is the beginning of a history that some writer had, without
   a gap and in order.  For the whole log, not only for what is served. *)
PrefixRead ==
  \A x \in Regions : \A i \in 1 .. Len(reg[x].log) :
    /\ Lsn(reg[x].log[i][2]) = i
    /\ hist.made[reg[x].log[i][2]][3] = (IF i = 1 THEN 0 ELSE reg[x].log[i - 1][2])

(* The committed beginnings of all copies agree. *)
CommittedAgree ==
  \A x \in Regions : \A y \in Regions : (Strong /\ Visible(x) <= Visible(y)) =>
    Served(x) = Prefix(reg[y].log, Visible(x))

-----------------------------------------------------------------------------
(* False progress. *)

(* No write that was acknowledged is undone by a member of the lease set, or for the current writer.
   (A region outside of it that has not heard of the new epoch may still follow the old writer, and
   undo for it what the new one has acknowledged since: reach-undone-for-nothing.) *)
AckedIsNotUndone == Strong => ~hist.undidAcked

(* At any level: an acknowledged write that is in no log is in a list of undone writes. *)
LossIsListed ==
  \A write \in hist.acked : \E x \in Regions : write \in Writes(reg[x].log) \cup reg[x].undone

(* Rule 21: a write that the current history contains again, and that is acknowledged, is in no open
   list of a region that has reached it. *)
Follows(x) == st.writer # 0 /\ (x = st.writer \/ x \in reg[st.writer].sess)

AckedIsNotOpen ==
  \A x \in Regions : \A write \in hist.acked \cap reg[x].undone :
    ~(Follows(x) /\ write \in Writes(reg[st.writer].log) /\ Lsn(write) <= reg[x].dur)

(* No open entry is in the region's own durable log. *)
OpenIsUndone == \A x \in Regions : reg[x].undone \cap Writes(Prefix(reg[x].log, reg[x].dur)) = {}

(* A graceful failover loses nothing, acknowledged or not. *)
GracefulLosesNothing == ~hist.switchLost

-----------------------------------------------------------------------------
(* What the others rest on. *)

(* No two regions accept writes at the same time. *)
OneWriter == \A x \in Regions : \A y \in Regions : (Accepts(x) /\ Accepts(y)) => x = y

(* An entry is known by its epoch and its LSN. *)
EntriesAreUnique ==
  \A x \in Regions : \A y \in Regions : \A i \in 1 .. Least(Len(reg[x].log), Len(reg[y].log)) :
    reg[x].log[i][1] = reg[y].log[i][1] => reg[x].log[i] = reg[y].log[i]

(* Rule 14. *)
CommitSetCoversLeaseSet ==
  \A x \in Regions : (Strong /\ Writer(x) /\ Current(x)) => st.lset \subseteq reg[x].cset

(* A session binds a reconciled copy: the reader's log is a beginning of the writer's. *)
SessionsAreReconciled ==
  \A w \in Regions : \A m \in reg[w].sess :
    /\ reg[m].epoch = reg[w].epoch
    /\ Len(reg[m].log) <= Len(reg[w].log)
    /\ reg[m].log = Prefix(reg[w].log, Len(reg[m].log))

TypeOK ==
  /\ st.gcn \in 1 .. MaxGcn
  /\ st.writer \in {0} \cup Regions
  /\ st.lset \subseteq Regions
  /\ st.lset # {}
  /\ \A x \in Regions : reg[x].epoch \in 1 .. st.gcn /\ reg[x].gclsn <= Len(reg[x].log)
  /\ \A x \in Regions : reg[x].dur <= Len(reg[x].log) /\ reg[x].acks[x] = 0
  /\ \A x \in Regions : reg[x].mode = "R" => ~reg[x].lease
  /\ \A x \in Regions : Writer(x) => ~reg[x].grant

-----------------------------------------------------------------------------
(* Situations that the model must be able to reach: `reach' configurations check Not.. and expect it
   to fail. *)

(* A failover, and the old writer has undone what the new epoch does not contain. *)
UndoneAfterFailover == st.gcn > 1 /\ reg[1].undone # {} /\ Follows(1) /\ Len(reg[1].log) > 0
NotUndoneAfterFailover == ~UndoneAfterFailover

(* A region outside the lease set undoes an acknowledged write for an outdated writer. *)
UndoneForNothing == \E x \in Regions : st.writer # 0 /\ reg[x].undone \cap hist.acked # {} /\ ~Follows(x)
NotUndoneForNothing == ~UndoneForNothing

(* The old writer is elected again, with an entry that another region has undone; and that region has
   it again. *)
OldWriterAgain == st.gcn = 3 /\ st.writer = 1 /\ \E x \in Regions : Writes(reg[1].log) \cap reg[x].undone # {}
NotOldWriterAgain == ~OldWriterAgain
UndoneCloses ==
  st.gcn = 3 /\ st.writer = 1 /\ hist.acked = {1} /\ \E x \in hist.undid : reg[x].log = reg[1].log
NotUndoneCloses == ~UndoneCloses

(* A strong read at a granted reader right after a failover, of what the epoch before committed. *)
GrantedReadAfterFailover ==
  \E x \in Regions : st.gcn = 2 /\ reg[x].epoch = 2 /\ Granted(x, 1) /\ Len(reg[x].log) > 0 /\ Len(hist.made) = 1
NotGrantedReadAfterFailover == ~GrantedReadAfterFailover

(* A new writer with a tail it may not serve yet; and it serves it, committed again. *)
TailWaits == \E x \in Regions : st.gcn = 2 /\ Writer(x) /\ reg[x].epoch = 2 /\ reg[x].lease /\ reg[x].gclsn < reg[x].taken
NotTailWaits == ~TailWaits
TailServed ==
  \E x \in Regions : Writer(x) /\ reg[x].epoch = 2 /\ reg[x].taken > 0 /\ AsWriter(x, 1) /\ Cardinality(reg[x].cset) > 1
NotTailServed == ~TailServed

(* A region that was removed is a member again, with what was written in between. *)
RemovedAndAdded ==
  \E x \in hist.removed \cap st.lset : Len(reg[x].log) = 2 /\ hist.acked = {1, 2} /\ x \in reg[st.writer].known
NotRemovedAndAdded == ~RemovedAndAdded

(* A token that its copy refuses, though it has that LSN: the write was lost. *)
TokenRefused ==
  \E x \in Regions : \E write \in hist.acked : Lsn(write) <= Visible(x) /\ write \notin Writes(Served(x))
NotTokenRefused == ~TokenRefused

(* A crash loses an entry that a reader has, another write takes its LSN, and the reader has that. *)
LsnAgain == st.gcn = 1 /\ hist.undid # {} /\ hist.acked = {2} /\ Lsn(2) = 1
NotLsnAgain == ~LsnAgain

(* A reader waits, because its log has what it does not know to be committed. *)
ReaderWaits ==
  \E x \in Regions : reg[x].grant /\ ~Granted(x, 1) /\ 1 \in hist.acked
NotReaderWaits == ~ReaderWaits

(* An entry of an older epoch arrives where a newer one is known. *)
ArrivesLate == \E x \in Regions : wire[x].from # 0 /\ wire[x].epoch < reg[x].epoch /\ Accepts(2)
NotArrivesLate == ~ArrivesLate

(* A graceful failover, and a write after it. *)
SwitchedAndWrites == st.cause = "graceful" /\ hist.acked = {1, 2} /\ EpochOf(2) > 20
NotSwitchedAndWrites == ~SwitchedAndWrites
=============================================================================
