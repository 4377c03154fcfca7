----------------------------- MODULE setchange ------------------------------
(***************************************************************************)
(* Changing the set of acceptors while everything runs (DESIGN section 3,  *)
(* rule 9; src/caspaxos/change-set.ts and announce.ts), and taking the     *)
(* change back.  Every guard has a name and can be taken out by it         *)
(* (Without); spec/setchange.md has the table of what breaks then.         *)
(*                                                                         *)
(* An acceptor knows one of these configurations:                          *)
(*                                                                         *)
(*   0   none: it is to come in, and was not told yet                      *)
(*   1   set n: the old acceptors                                          *)
(*   2   set n+1: old and new together                                     *)
(*   3   set n+2: the new acceptors alone; the change is settled           *)
(*   4   set n+2: the old acceptors alone; the change was taken back       *)
(*                                                                         *)
(* The model begins where set n+1 is decided: the configuration's register *)
(* holds it, accepted by a quorum of the old acceptors, and nobody knows.  *)
(*                                                                         *)
(* There are two registers: "data", and "conf", which is that of the       *)
(* configuration.  What is done to them is a list of attempts, one for     *)
(* each role, each with one ballot, its number in the configuration file   *)
(* (0: nobody has that role).  An attempt is CASPaxos with two rounds.     *)
(* Its messages are exchanged with one acceptor at a time, in any order,   *)
(* late or never, so loss, delay and the death of a proposer are in every  *)
(* run.  A value is the sequence of the ballots whose edits made it, so    *)
(* "descends from" is "has as a prefix".  In "conf" it begins with the 2   *)
(* of set n+1, and ends with the number of what was decided.               *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Old, New,     \* two sets of acceptors, which may overlap; majorities are quorums
  Written,      \* whether "data" has a value from the beginning
  MaxLost,      \* how many of those that would come in are lost for good
  WorkerOld,    \* ballot of one who changes "data" and knows set n
  WorkerBoth,   \* .. one who knows set n+1
  WorkerNew,    \* .. one who knows that the change is settled
  WorkerBack,   \* .. one who knows that it was taken back
  Rewriter,     \* .. the changer, who rewrites "data" under both sets
  Finisher,     \* .. the changer, who decides in "conf" that the change is settled
  Returner,     \* .. one who takes it back under set n
  ReturnerBoth, \* .. one who takes it back under set n+1, by the old acceptors alone
  AtOnce,       \* ends that are decided in one step, for a model of "data": 3, 4
  Without       \* the names of the guards that are taken out

VARIABLES
  doc,    \* the configuration that each acceptor knows
  rec,    \* what it keeps of the two registers
  att,    \* the attempts
  stage,  \* the changer's: "tell", "rewrite", "decide"
  ends,   \* the ends that were decided: 3, 4
  lost    \* acceptors that are lost for good

vars == <<doc, rec, att, stage, ends, lost>>

Guards == {"new-first", "old-know", "both-known", "both-old", "both-new", "refuse-older", "list", "rewrite",
           "rewrite-both", "finish-both", "decided", "tell-end", "back-decides", "back-looks", "back-quorum",
           "back-alone", "back-number"}

ASSUME Without \subseteq Guards
ASSUME AtOnce \subseteq {3, 4}

Guard(name) == name \notin Without

Acceptors == Old \cup New
Coming == New \ Old
Registers == {"data", "conf"}

Ballot == [workerOld |-> WorkerOld, workerBoth |-> WorkerBoth, workerNew |-> WorkerNew,
           workerBack |-> WorkerBack, rewriter |-> Rewriter, finisher |-> Finisher,
           returner |-> Returner, returnerBoth |-> ReturnerBoth]

Roles == {r \in {"workerOld", "workerBoth", "workerNew", "workerBack", "rewriter", "finisher",
                 "returner", "returnerBoth"} : Ballot[r] # 0}

Workers == Roles \cap {"workerOld", "workerBoth", "workerNew", "workerBack"}

RegisterOf(role) == IF role \in {"finisher", "returner", "returnerBoth"} THEN "conf" ELSE "data"

(* The number that a request carries, and that of a configuration. *)
SetOf(role) ==
  IF role \in {"workerOld", "returner"} THEN 1
  ELSE IF role \in {"workerNew", "workerBack"} THEN 3 ELSE 2

NumberOf(c) == IF c = 4 THEN 3 ELSE c

-----------------------------------------------------------------------------
(* Quorums. *)

Most(members, some) == 2 * Cardinality(some \cap members) > Cardinality(members)

OldQuorum(S) == Most(Old, S)
NewQuorum(S) == Most(New, S)
BothQuorum(S) == Most(Old, S) /\ Most(New, S)

IsQuorum(role, set) ==
  IF role \in {"workerOld", "workerBack", "returner"} THEN OldQuorum(set)
  ELSE IF role = "workerNew" THEN NewQuorum(set)
  ELSE IF role = "finisher" /\ ~Guard("finish-both") THEN NewQuorum(set)
  ELSE IF role = "workerBoth" /\ ~Guard("both-old") THEN NewQuorum(set)
  ELSE IF role = "workerBoth" /\ ~Guard("both-new") THEN OldQuorum(set)
  ELSE IF role = "rewriter" /\ ~Guard("rewrite-both") THEN OldQuorum(set)
  ELSE IF role = "returnerBoth" /\ ~Guard("back-quorum") THEN set # {}
  ELSE IF role = "returnerBoth" /\ Guard("back-alone") THEN OldQuorum(set)
  ELSE BothQuorum(set)

MembersOf(role) ==
  IF role \in {"workerOld", "workerBack", "returner"} THEN Old
  ELSE IF role = "workerNew" THEN New
  ELSE IF role = "returnerBoth" /\ Guard("back-alone") THEN Old
  ELSE Acceptors

-----------------------------------------------------------------------------
Empty == [set |-> 0, promised |-> 0, accepted |-> 0, value |-> <<>>]
Accepted(v) == [set |-> 1, promised |-> 1, accepted |-> 1, value |-> v]

(* Some quorum of the old acceptors, which accepted what was there before. *)
FirstTwo == CHOOSE S \in SUBSET Old : OldQuorum(S) /\ \A a \in S : ~OldQuorum(S \ {a})

NotBegun == [step |-> "ask", heard |-> {}, abal |-> 0, aval |-> <<>>, value |-> <<>>, votes |-> {}]

Init ==
  /\ doc = [a \in Acceptors |-> IF a \in Old THEN 1 ELSE 0]
  /\ rec = [data |-> [a \in Acceptors |-> IF Written /\ a \in FirstTwo THEN Accepted(<<1>>) ELSE Empty],
            conf |-> [a \in Acceptors |-> IF a \in FirstTwo THEN Accepted(<<2>>) ELSE Empty]]
  /\ att = [r \in Roles |-> NotBegun]
  /\ stage = "tell"
  /\ ends = {}
  /\ lost = {}

Live == Acceptors \ lost
Knowing(c) == {a \in Acceptors : doc[a] = c}
Aware == {a \in Acceptors : doc[a] >= 2}

-----------------------------------------------------------------------------
(* Attempts. *)

(* When somebody comes to know the configuration that he works with.  Set n+1 is known to whoever asks
   an old acceptor that was told; set n+2 is used when a quorum of its acceptors was told. *)
MayBegin(r) ==
  IF r \in {"workerOld", "returner"} THEN TRUE
  ELSE IF r = "workerBoth" THEN Aware \cap Old # {} \/ ~Guard("both-known")
  ELSE IF r = "returnerBoth" THEN Aware \cap Old # {} \/ ~Guard("back-number")
  ELSE IF r = "workerNew" THEN IF Guard("tell-end") THEN NewQuorum(Knowing(3)) ELSE 3 \in ends
  ELSE IF r = "workerBack" THEN IF Guard("tell-end") THEN OldQuorum(Knowing(4)) ELSE 4 \in ends
  ELSE IF r = "rewriter" THEN stage = "rewrite"
  ELSE stage = "decide"

Edit(role, v) ==
  IF role \in Workers THEN Append(v, Ballot[role])
  ELSE IF role = "rewriter" THEN v
  ELSE IF role = "finisher" THEN IF v \in {<<>>, <<2>>} THEN <<2, 3>> ELSE v
  ELSE IF v \in {<<>>, <<2>>} \/ ~Guard("back-looks") THEN <<2, 4>> ELSE v

(* Acceptors refuse proposers that use an older set. *)
Answers(acceptor, key, number) ==
  /\ acceptor \notin lost
  /\ doc[acceptor] # 0
  /\ Guard("refuse-older") => (NumberOf(doc[acceptor]) <= number /\ rec[key][acceptor].set <= number)

(* On the promise that completes a quorum the value is proposed.  What was never written needs no
   rewriting. *)
Heard(r, a) ==
  LET old == att[r]
      kept == rec[RegisterOf(r)][a]
      newer == kept.accepted > old.abal
      value == IF newer THEN kept.value ELSE old.aval
  IN IF ~IsQuorum(r, old.heard \cup {a})
     THEN [old EXCEPT !.heard = old.heard \cup {a},
                      !.abal = IF newer THEN kept.accepted ELSE old.abal,
                      !.aval = value]
     ELSE IF r = "rewriter" /\ value = <<>> THEN [NotBegun EXCEPT !.step = "empty"]
     ELSE [NotBegun EXCEPT !.step = "propose", !.value = Edit(r, value)]

MayPromise(r, a) ==
  /\ att[r].step = "ask"
  /\ a \notin att[r].heard
  /\ Ballot[r] > rec[RegisterOf(r)][a].promised
  /\ Answers(a, RegisterOf(r), SetOf(r))

Promise(r, a) ==
  /\ rec' = [rec EXCEPT ![RegisterOf(r)][a].set = SetOf(r), ![RegisterOf(r)][a].promised = Ballot[r]]
  /\ att' = [att EXCEPT ![r] = Heard(r, a)]
  /\ UNCHANGED <<doc, stage, ends, lost>>

MayAccept(r, a) ==
  /\ att[r].step = "propose"
  /\ a \notin att[r].votes
  /\ Ballot[r] >= rec[RegisterOf(r)][a].promised
  /\ Answers(a, RegisterOf(r), SetOf(r))

EndOf(v) == IF v = <<2, 3>> THEN {3} ELSE IF v = <<2, 4>> THEN {4} ELSE {}

Accept(r, a) ==
  /\ rec' = [rec EXCEPT ![RegisterOf(r)][a] =
       [set |-> SetOf(r), promised |-> Ballot[r], accepted |-> Ballot[r], value |-> att[r].value]]
  /\ att' = [att EXCEPT ![r].votes = att[r].votes \cup {a}]
  /\ ends' = IF RegisterOf(r) = "conf" /\ IsQuorum(r, att[r].votes \cup {a})
             THEN ends \cup EndOf(att[r].value) ELSE ends
  /\ UNCHANGED <<doc, stage, lost>>

-----------------------------------------------------------------------------
(* The change of the set. *)

(* The new acceptors first, and the old ones when a quorum of the new set knows it or will. *)
MayTellOld == Guard("new-first") => NewQuorum(Aware \cup (New \cap Old))

MayTell(a) == a \in Live /\ doc[a] < 2 /\ (a \in Old => MayTellOld)

Tell(a) ==
  /\ doc' = [doc EXCEPT ![a] = 2]
  /\ UNCHANGED <<rec, att, stage, ends, lost>>

(* The registers are listed when no quorum of the old acceptors is left to proposers of set n, and by
   those that know: what the others will accept no quorum has. *)
MayList ==
  /\ stage = "tell"
  /\ IF Guard("old-know") THEN OldQuorum(Aware) ELSE Aware \cap Old # {}

Listed(a) == (IF Guard("list") THEN a \in Aware \cap Old ELSE a \in Old \ Aware)

List ==
  /\ stage' = IF Guard("rewrite") /\ \E a \in Acceptors : Listed(a) /\ rec.data[a].promised # 0
              THEN "rewrite" ELSE "decide"
  /\ UNCHANGED <<doc, rec, att, ends, lost>>

MayGoOn ==
  /\ stage = "rewrite"
  /\ IF Rewriter = 0 THEN FALSE
     ELSE att["rewriter"].step = "empty" \/ IsQuorum("rewriter", att["rewriter"].votes)

GoOn ==
  /\ stage' = "decide"
  /\ UNCHANGED <<doc, rec, att, ends, lost>>

(* The end, decided in one step: for a model of "data".  That the register has one value is the
   business of the other configurations. *)
MayDecide(e) ==
  /\ e \notin ends
  /\ ends = {} \/ ~Guard("back-decides")
  /\ e = 3 => (stage = "decide" /\ BothQuorum(Live))

Decide(e) ==
  /\ ends' = ends \cup {e}
  /\ UNCHANGED <<doc, rec, att, stage, lost>>

(* Everybody is told the end, once it is decided. *)
MayTellEnd(e, a) ==
  /\ a \in Live
  /\ doc[a] < 3
  /\ e \in ends \/ (~Guard("decided") /\ e = 3 /\ stage = "decide")

TellEnd(e, a) ==
  /\ doc' = [doc EXCEPT ![a] = e]
  /\ UNCHANGED <<rec, att, stage, ends, lost>>

MayLose(a) == Cardinality(lost) < MaxLost /\ a \notin lost

Lose(a) ==
  /\ lost' = lost \cup {a}
  /\ UNCHANGED <<doc, rec, att, stage, ends>>

Next ==
  \/ \E r \in {x \in DOMAIN att : MayBegin(x)} : \E a \in {y \in MembersOf(r) : MayPromise(r, y)} : Promise(r, a)
  \/ \E r \in DOMAIN att : \E a \in {y \in MembersOf(r) : MayAccept(r, y)} : Accept(r, a)
  \/ \E a \in {x \in Acceptors : MayTell(x)} : Tell(a)
  \/ MayList /\ List
  \/ MayGoOn /\ GoOn
  \/ \E e \in {x \in AtOnce : MayDecide(x)} : Decide(e)
  \/ \E e \in {3, 4} : \E a \in {x \in Acceptors : MayTellEnd(e, x)} : TellEnd(e, a)
  \/ \E a \in {x \in Coming : MayLose(x)} : Lose(a)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Nothing is lost. *)

IsPrefix(s, t) == Len(s) <= Len(t) /\ SubSeq(t, 1, Len(s)) = s

Chosen == {r \in DOMAIN att : att[r].step = "propose" /\ IsQuorum(r, att[r].votes)}

(* What was acknowledged under any set is in all that is chosen later, under any set. *)
NothingLost ==
  \A r \in Chosen :
    /\ (Written /\ RegisterOf(r) = "data") => IsPrefix(<<1>>, att[r].value)
    /\ \A s \in {x \in Chosen : RegisterOf(x) = RegisterOf(r) /\ Ballot[x] > Ballot[r]} :
         IsPrefix(att[r].value, att[s].value)

(* The change is finished or taken back, never both. *)
OneEnd == Cardinality(ends) <= 1

-----------------------------------------------------------------------------
(* Nobody is stuck. *)

(* Those that answer; one that was not told yet is told by whoever wants to use it. *)
Reachable(register, n) ==
  {a \in Acceptors : Answers(a, register, n)} \cup {a \in Live : doc[a] = 0 /\ n >= 2}

(* A process that starts now and is told of the old acceptors alone finds what they know, and, if that
   is set n+1, what the new ones know. *)
Finds(c) ==
  \/ Knowing(c) \cap Old # {}
  \/ Knowing(c) \cap Live # {} /\ Knowing(2) \cap Old # {}

SomebodyWorks ==
  \/ Finds(1) /\ OldQuorum(Reachable("data", 1))
  \/ Finds(2) /\ BothQuorum(Reachable("data", 2))
  \/ Finds(3) /\ NewQuorum(Reachable("data", 3))
  \/ Finds(4) /\ OldQuorum(Reachable("data", 3))

(* Whether the old acceptors can still decide in "conf" what is to become of the change. *)
BackIsOpen ==
  \/ Finds(1) /\ OldQuorum(Reachable("conf", 1))
  \/ Finds(2) /\ IsQuorum("returnerBoth", Reachable("conf", 2))
  \/ Finds(4) /\ OldQuorum(Reachable("conf", 3))

SettledIsProposed == \E r \in DOMAIN att : RegisterOf(r) = "conf" /\ att[r].value = <<2, 3>>

(* Acceptors that were lost before they were told stop nobody, and nobody has to take anything back. *)
UntoldStopNobody == (\A a \in lost : doc[a] = 0) => SomebodyWorks

(* However many of those that would come in are lost: until it is proposed that they are in force alone,
   somebody can go on, or take the change back. *)
LossCanBeUndone == SettledIsProposed \/ 3 \in ends \/ SomebodyWorks \/ BackIsOpen

(* Until the change is settled the old acceptors can decide the configuration's register. *)
OldCanDecide == 3 \in ends \/ BackIsOpen

TypeOK ==
  /\ \A a \in Acceptors : doc[a] \in 0 .. 4
  /\ \A g \in Registers : \A a \in Acceptors :
       /\ rec[g][a].set \in 0 .. 3
       /\ rec[g][a].accepted <= rec[g][a].promised
       /\ (rec[g][a].accepted = 0) <=> (rec[g][a].value = <<>>)
  /\ \A r \in DOMAIN att : att[r].heard \subseteq MembersOf(r) /\ att[r].votes \subseteq MembersOf(r)
  /\ lost \subseteq Coming

-----------------------------------------------------------------------------
(* Situations that the model must be able to reach. *)

Settled == 3 \in ends
NotSettled == ~Settled
TakenBack == 4 \in ends
NotTakenBack == ~TakenBack
TakenBackAfterLoss == 4 \in ends /\ ~NewQuorum(Live)
NotTakenBackAfterLoss == ~TakenBackAfterLoss
(* Under set n and under the settled set, and in between the register was rewritten. *)
OldAndNew == {"workerOld", "workerNew", "rewriter"} \subseteq Chosen
NotOldAndNew == ~OldAndNew
(* What was written under both sets is there after the change was taken back. *)
BothAndBack == {"workerBoth", "workerBack"} \subseteq Chosen
NotBothAndBack == ~BothAndBack
(* A proposer of set n has a promise, and is refused by so many that its change cannot be made. *)
WorkerRefused == att["workerOld"].heard # {} /\ ~OldQuorum(Reachable("data", 1))
NotWorkerRefused == ~WorkerRefused
(* Nobody can write, and the old acceptors alone can end that. *)
StoppedByLoss == ~SomebodyWorks /\ BackIsOpen
NotStoppedByLoss == ~StoppedByLoss
(* Going back found that the change may be settled, and settled it. *)
FinishedByReturner == \E r \in {"returner", "returnerBoth"} \cap Chosen : att[r].value = <<2, 3>>
NotFinishedByReturner == ~FinishedByReturner
=============================================================================
