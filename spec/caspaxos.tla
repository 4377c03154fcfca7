------------------------------ MODULE caspaxos ------------------------------
(***************************************************************************)
(* CASPaxos as Baton's role classes implement it (DESIGN section 3; the    *)
(* paper's 4.3): one register that is changed by edits.  Rule numbers are  *)
(* those of DESIGN section 3.                                              *)
(*                                                                         *)
(* Messages are never taken off the wire: sent1a .. sent2b hold all that   *)
(* were ever sent, and any of them may be delivered at any time, again, or *)
(* never.  Loss, duplication and reordering need no actions of their own.  *)
(*                                                                         *)
(* A value is the sequence of the ballots whose edits made it, so that     *)
(* "descends from" is "has as a prefix".  A ballot is a number; what makes *)
(* it unique (rule 1) is that each number is one proposer's one attempt.   *)
(*                                                                         *)
(* A leader has no variables: what it knows are the answers to its ballot, *)
(* what it has done are its proposals.                                     *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Acceptors,   \* a set of numbers
  MaxBallot,   \* ballots are 1 .. MaxBallot
  Quorum1,     \* how many acceptors make a quorum of phase 1 ..
  Quorum2,     \* .. and of phase 2: sound if Quorum1 + Quorum2 > |Acceptors|
  Readers,     \* the ballots that read: their edit is the identity (rule 5)
  Query,       \* whether somebody reads by asking what is accepted (rule 5)
  OneRound,    \* whether proposals may ask for the promise of a further ballot
  TrackTime,   \* whether to record what was chosen when an attempt began
  MaxAmnesia,  \* how often an acceptor may lose its state (rule 8): sound if 0
  Without      \* the names of the guards that are taken out: sound if {}

VARIABLES
  promised, accepted, value,       \* the acceptors' memory
  sent1a, sent1b, sent2a, sent2b,  \* the messages ever sent
  learned,    \* what some learner, told of some of the 2b in some order, reports
  asked,      \* whether the query was made: 0, or one more than what is chosen then
  answers,    \* the answers to it
  reads,      \* what reads returned at once, without a phase 2 (rule 5)
  began,      \* history: the highest ballot chosen when an attempt began
  forgotten   \* how many times an acceptor lost its state

vars == <<promised, accepted, value, sent1a, sent1b, sent2a, sent2b,
          learned, asked, answers, reads, began, forgotten>>

Ballots == 1 .. MaxBallot

Guards == {"Phase1Promise", "Phase2Promise", "PersistPromise", "PersistAccept",
           "PersistNext", "RefuseOtherValue", "TakeHighest", "OneProposal", "SingleUse",
           "SameBallotRead", "ChosenRead", "FreshRead", "OneBallotLearner"}

ASSUME Without \subseteq Guards
ASSUME Readers \subseteq Ballots

Guard(name) == name \notin Without

-----------------------------------------------------------------------------
(* What is chosen: a value that a phase-2 quorum accepted under one ballot. *)

Voters(b, v) == {m.acc : m \in {x \in sent2b : x.bal = b /\ x.val = v}}

Chosen == {c \in {[bal |-> m.bal, val |-> m.val] : m \in sent2b} :
             Cardinality(Voters(c.bal, c.val)) >= Quorum2}

HighestChosen ==
  IF Chosen = {} THEN 0
  ELSE (CHOOSE c \in Chosen : \A d \in Chosen : d.bal <= c.bal).bal

Begin(b) == IF TrackTime THEN [began EXCEPT ![b] = HighestChosen] ELSE began

-----------------------------------------------------------------------------
Init ==
  /\ promised = [a \in Acceptors |-> 0]
  /\ accepted = [a \in Acceptors |-> 0]
  /\ value = [a \in Acceptors |-> <<>>]
  /\ sent1a = {}
  /\ sent1b = {}
  /\ sent2a = {}
  /\ sent2b = {}
  /\ learned = {}
  /\ asked = 0
  /\ answers = {}
  /\ reads = {}
  /\ began = [b \in Ballots |-> 0]
  /\ forgotten = 0

-----------------------------------------------------------------------------
(* The leader, LeaderStateMachine.  Each action has its guard in a predicate of its own, so
   that Next can sort out by sets what is not enabled: the checker is twice as fast. *)

(* startPhase1.  A ballot that was asked for as `next' has no phase 1 of its own. *)
MayBegin(b) == b \notin sent1a /\ \A m \in sent2a : m.next # b

Phase1a(b) ==
  /\ sent1a' = sent1a \cup {b}
  /\ began' = Begin(b)
  /\ UNCHANGED <<promised, accepted, value, sent1b, sent2a, sent2b, learned, asked, answers,
                 reads, forgotten>>

Edit(b, v) == IF b \in Readers THEN v ELSE Append(v, b)

(* The ballots that a proposal of b may ask for in the same breath; 0 is none. *)
NextChoices(b) ==
  IF OneRound
  THEN {0} \cup {n \in Ballots : n > b /\ n \notin sent1a /\ \A m \in sent2a : m.next # n}
  ELSE {0}

(* startPhase2 takes the first quorum of promises, once (rule 2) .. *)
Used(b) == (\E m \in sent2a : m.bal = b) \/ (\E r \in reads : r.bal = b)

MayPropose(b) ==
  /\ Guard("OneProposal") => ~Used(b)
  /\ Cardinality({m.acc : m \in {x \in sent1b : x.bal = b}}) >= Quorum1

FirstQuorums(b) ==
  {S \in SUBSET {m \in sent1b : m.bal = b} :
     /\ IF Guard("OneProposal") THEN Cardinality(S) = Quorum1 ELSE Cardinality(S) >= Quorum1
     /\ Cardinality({m.acc : m \in S}) = Cardinality(S)}

(* .. and the value that was accepted under the highest ballot in it. *)
Highest(S) ==
  IF Guard("TakeHighest") THEN {h \in S : \A m \in S : m.abal <= h.abal} ELSE S

(* isProof (rule 5): what acceptors hold under one ballot is the register's value.  A
   phase-1 quorum says that nothing newer was chosen, a phase-2 quorum that this is; that
   nothing was ever chosen (ballot 0) needs only the first. *)
IsProof(ballot, acceptors) ==
  /\ Guard("FreshRead") => Cardinality(acceptors) >= Quorum1
  /\ Guard("ChosenRead") => (ballot = 0 \/ Cardinality(acceptors) >= Quorum2)

(* quorumAgreed (rule 5). *)
QuorumAgreed(S, h) ==
  /\ Guard("SameBallotRead") => (\A m \in S : m.abal = h.abal)
  /\ IsProof(h.abal, {m.acc : m \in S})

(* A read returns that value at once if it may. *)
Phase2a(b) ==
  /\ \E S \in FirstQuorums(b) : \E h \in Highest(S) :
       IF b \in Readers /\ QuorumAgreed(S, h)
       THEN /\ reads' = reads \cup {[bal |-> b, val |-> h.aval]}
            /\ UNCHANGED sent2a
       ELSE /\ \E n \in NextChoices(b) :
                 sent2a' = sent2a \cup {[bal |-> b, val |-> Edit(b, h.aval), next |-> n]}
            /\ UNCHANGED reads
  /\ UNCHANGED <<promised, accepted, value, sent1a, sent1b, sent2b, learned, asked, answers,
                 began, forgotten>>

(* resume: the one-round-trip path.  A phase-1 quorum has accepted m under its ballot
   and promised m.next with it, so m's value is the one to edit.  The prepared ballot
   is used once (rule 2); without that guard a second edit is tried under it. *)
Uses(b) == Cardinality({m \in sent2a : m.bal = b})

MayResume(m) ==
  /\ m.next # 0
  /\ IF Guard("SingleUse") THEN Uses(m.next) = 0 ELSE Uses(m.next) <= 1
  /\ Cardinality({x.acc : x \in {y \in sent2b :
       y.bal = m.bal /\ y.val = m.val /\ y.next = m.next}}) >= Quorum1

Resume(m) ==
  /\ \E n \in NextChoices(m.next) :
       sent2a' = sent2a \cup
         {[bal |-> m.next, next |-> n,
           val |-> IF Uses(m.next) = 0 THEN Edit(m.next, m.val)
                   ELSE Edit(m.next, Edit(m.next, m.val))]}
  /\ began' = Begin(m.next)
  /\ UNCHANGED <<promised, accepted, value, sent1a, sent1b, sent2b, learned, asked, answers,
                 reads, forgotten>>

-----------------------------------------------------------------------------
(* The cheap read, QuorumReader.onState (rule 5): asks the acceptors what they accepted,
   without any promise, and returns it when those that hold one ballot are a proof. *)
MayAsk == Query /\ asked = 0

Ask ==
  /\ asked' = IF TrackTime THEN HighestChosen + 1 ELSE 1
  /\ UNCHANGED <<promised, accepted, value, sent1a, sent1b, sent2a, sent2b, learned, answers,
                 reads, began, forgotten>>

AnswerOf(a) == [acc |-> a, abal |-> accepted[a], aval |-> value[a]]

MayAnswer(a) == asked # 0 /\ AnswerOf(a) \notin answers

Answer(a) ==
  /\ answers' = answers \cup {AnswerOf(a)}
  /\ UNCHANGED <<promised, accepted, value, sent1a, sent1b, sent2a, sent2b, learned, asked,
                 reads, began, forgotten>>

MayReturn(h) ==
  /\ \A r \in reads : r.bal # 0
  /\ IsProof(h.abal, {m.acc : m \in {x \in answers : x.abal = h.abal \/ ~Guard("SameBallotRead")}})

Return(h) ==
  /\ reads' = reads \cup {[bal |-> 0, val |-> h.aval]}
  /\ UNCHANGED <<promised, accepted, value, sent1a, sent1b, sent2a, sent2b, learned, asked,
                 answers, began, forgotten>>

-----------------------------------------------------------------------------
(* The learner, LearnerStateMachine.learn: reports a message when a quorum has
   acknowledged that message's ballot (rule 6).  Without that guard it forgets which
   ballot it counts. *)
Learnable(votes) ==
  {c \in {[bal |-> m.bal, val |-> m.val] : m \in votes} :
     Cardinality({m.acc : m \in
       {x \in votes : x.bal = c.bal \/ (x.bal < c.bal /\ ~Guard("OneBallotLearner"))}}) >= Quorum2}

-----------------------------------------------------------------------------
(* The acceptor, AcceptorStateMachine.  What it refuses (NAK, alarm) changes nothing and
   is not on the wire here; nor does an answer that was given before change anything. *)

(* onPhase1a. *)
MayPromise(a, b) == b > promised[a] \/ ~Guard("Phase1Promise")

Phase1b(a, b) ==
  /\ promised' = IF Guard("PersistPromise") THEN [promised EXCEPT ![a] = b] ELSE promised
  /\ sent1b' = sent1b \cup {[acc |-> a, bal |-> b, abal |-> accepted[a], aval |-> value[a]]}
  /\ UNCHANGED <<accepted, value, sent1a, sent2a, sent2b, learned, asked, answers, reads, began,
                 forgotten>>

(* onPhase2a, a new proposal.  What is answered has been stored before (rule 3). *)
MayAccept(a, m) == accepted[a] # m.bal /\ (m.bal >= promised[a] \/ ~Guard("Phase2Promise"))

Accept(a, m) ==
  /\ promised' = [promised EXCEPT ![a] =
                    IF m.next # 0 /\ Guard("PersistNext") THEN m.next ELSE m.bal]
  /\ accepted' = IF Guard("PersistAccept") THEN [accepted EXCEPT ![a] = m.bal] ELSE accepted
  /\ value' = IF Guard("PersistAccept") THEN [value EXCEPT ![a] = m.val] ELSE value
  /\ sent2b' = sent2b \cup {[acc |-> a, bal |-> m.bal, val |-> m.val, next |-> m.next]}
  /\ learned' = Learnable(sent2b')
  /\ UNCHANGED <<sent1a, sent1b, sent2a, asked, answers, reads, began, forgotten>>

(* onPhase2a, a proposal that was accepted before: acknowledged again, with the promise
   if that still stands; the same ballot with another value is refused (rule 3). *)
MayAcceptAgain(a, m) ==
  /\ accepted[a] = m.bal
  /\ IF value[a] = m.val THEN m.next # 0 /\ m.next # promised[a] ELSE ~Guard("RefuseOtherValue")

AcceptAgain(a, m) ==
  /\ sent2b' = sent2b \cup {[acc |-> a, bal |-> m.bal, val |-> m.val,
                             next |-> IF m.next = promised[a] THEN m.next ELSE 0]}
  /\ learned' = Learnable(sent2b')
  /\ UNCHANGED <<promised, accepted, value, sent1a, sent1b, sent2a, asked, answers, reads,
                 began, forgotten>>

(* An acceptor's store comes back empty (rule 8). *)
MayForget(a) == forgotten < MaxAmnesia /\ promised[a] # 0

Forget(a) ==
  /\ promised' = [promised EXCEPT ![a] = 0]
  /\ accepted' = [accepted EXCEPT ![a] = 0]
  /\ value' = [value EXCEPT ![a] = <<>>]
  /\ forgotten' = forgotten + 1
  /\ UNCHANGED <<sent1a, sent1b, sent2a, sent2b, learned, asked, answers, reads, began>>

-----------------------------------------------------------------------------
Next ==
  \/ \E b \in {x \in Ballots : MayBegin(x)} : Phase1a(b)
  \/ \E b \in {x \in sent1a : MayPropose(x)} : Phase2a(b)
  \/ \E m \in {x \in sent2a : MayResume(x)} : Resume(m)
  \/ \E a \in Acceptors : \E b \in {x \in sent1a : MayPromise(a, x)} : Phase1b(a, b)
  \/ \E a \in Acceptors : \E m \in {x \in sent2a : MayAccept(a, x)} : Accept(a, m)
  \/ \E a \in Acceptors : \E m \in {x \in sent2a : MayAcceptAgain(a, x)} : AcceptAgain(a, m)
  \/ \E a \in {x \in Acceptors : MayForget(x)} : Forget(a)
  \/ MayAsk /\ Ask
  \/ \E a \in {x \in Acceptors : MayAnswer(x)} : Answer(a)
  \/ \E h \in {x \in answers : MayReturn(x)} : Return(h)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* What the protocol promises to its users. *)

IsPrefix(s, t) == Len(s) <= Len(t) /\ SubSeq(t, 1, Len(s)) = s

(* Rule 2. *)
OneValuePerBallot == \A m \in sent2b : \A n \in sent2b : m.bal = n.bal => m.val = n.val

(* No chosen value is ever lost: each later one descends from it, if need be through
   values that were never chosen themselves. *)
ChosenDescends == \A c \in Chosen : \A d \in Chosen : c.bal < d.bal => IsPrefix(c.val, d.val)

(* Rule 6. *)
LearnedIsChosen == learned \subseteq Chosen

(* Rule 5.  A register that was never written reads as empty. *)
ReadIsChosen == \A r \in reads : r.val = <<>> \/ \E c \in Chosen : c.val = r.val

(* The highest ballot that was chosen when this read began. *)
ReadBegan(r) == IF r.bal = 0 THEN asked - 1 ELSE began[r.bal]

(* With ChosenDescends: linearizability.  What begins after a value was chosen sees it. *)
RealTimeOrder ==
  /\ TrackTime => (\A c \in Chosen : began[c.bal] <= c.bal)
  /\ TrackTime => (\A r \in reads : \A c \in Chosen :
                    c.bal <= ReadBegan(r) => IsPrefix(c.val, r.val))

(* What the acceptors promise, on which the above rests. *)

PromisedCoversAccepted == \A a \in Acceptors : accepted[a] <= promised[a]

NoStepBack ==
  /\ \A m \in sent1b : m.bal <= promised[m.acc] /\ m.abal <= accepted[m.acc]
  /\ \A m \in sent2b : m.bal <= accepted[m.acc] /\ m.next <= promised[m.acc]

(* Rule 3. *)
OneVotePerAcceptor ==
  \A m \in sent2b : \A n \in sent2b : (m.acc = n.acc /\ m.bal = n.bal) => m.val = n.val

TypeOK ==
  /\ \A a \in Acceptors : promised[a] \in 0 .. MaxBallot /\ accepted[a] \in 0 .. MaxBallot
  /\ \A a \in Acceptors : (accepted[a] = 0) <=> (value[a] = <<>>)
  /\ sent1a \subseteq Ballots
  /\ \A m \in sent1b : m.acc \in Acceptors /\ m.bal \in sent1a /\ m.abal \in 0 .. MaxBallot
  /\ \A m \in sent2a : /\ m.bal \in Ballots
                        /\ m.next = 0 \/ (m.next \in Ballots /\ m.next > m.bal)
  /\ \A m \in sent2b : m.acc \in Acceptors /\ \E p \in sent2a :
       p.bal = m.bal /\ p.val = m.val /\ m.next \in {0, p.next}
  /\ \A r \in reads : r.bal \in Readers \/ (r.bal = 0 /\ Query)
  /\ asked \in 0 .. MaxBallot + 1
  /\ \A m \in answers : m.acc \in Acceptors /\ m.abal \in 0 .. MaxBallot
  /\ forgotten \in 0 .. MaxAmnesia

-----------------------------------------------------------------------------
(* Situations that the model must be able to reach: `reach' configurations check
   Not.. and expect it to fail. *)

ChosenBallots == {c.bal : c \in Chosen}

TwoChosen == Cardinality(ChosenBallots) >= 2
NotTwoChosen == ~TwoChosen

(* A value was chosen through an ancestor that never was. *)
UnchosenAncestor ==
  \E c \in Chosen : \E i \in 1 .. Len(c.val) : c.val[i] \notin ChosenBallots
NotUnchosenAncestor == ~UnchosenAncestor

(* An acceptor accepted a value that is out of the history for good. *)
AcceptedInVain ==
  \E m \in sent2b : \E c \in Chosen : m.bal < c.bal /\ ~IsPrefix(m.val, c.val)
NotAcceptedInVain == ~AcceptedInVain

(* An acceptor refuses a promise, an acceptor refuses a proposal: a NAK. *)
RefusedPromise ==
  \E b \in sent1a : \E a \in Acceptors :
    b < promised[a] /\ ~\E m \in sent1b : m.acc = a /\ m.bal = b
NotRefusedPromise == ~RefusedPromise

RefusedProposal ==
  \E p \in sent2a : \E a \in Acceptors :
    p.bal < promised[a] /\ ~\E m \in sent2b : m.acc = a /\ m.bal = p.bal
NotRefusedProposal == ~RefusedProposal

(* A value was chosen in one round trip. *)
ResumedChosen == \E c \in Chosen : c.bal \notin sent1a
NotResumedChosen == ~ResumedChosen

(* An acknowledgement that was asked for a further promise came without it. *)
PromiseLapsed == \E m \in sent2b : \E p \in sent2a : p.bal = m.bal /\ p.next # m.next
NotPromiseLapsed == ~PromiseLapsed

(* A read returned a written value at once; a read returned that nothing was written;
   a read had to go through phase 2, and did. *)
ShortcutRead == \E r \in reads : r.val # <<>>
NotShortcutRead == ~ShortcutRead
ShortcutEmptyRead == \E r \in reads : r.val = <<>>
NotShortcutEmptyRead == ~ShortcutEmptyRead
SlowRead == \E c \in Chosen : c.bal \in Readers
NotSlowRead == ~SlowRead

(* A query returned a written value; everybody answered a query, and it proves nothing. *)
QueryRead == \E r \in reads : r.bal = 0 /\ r.val # <<>>
NotQueryRead == ~QueryRead
DividedQuery ==
  /\ {m.acc : m \in answers} = Acceptors
  /\ \A h \in answers : ~MayReturn(h)
  /\ reads = {}
NotDividedQuery == ~DividedQuery
=============================================================================
