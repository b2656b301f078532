/* docs/protocol/membership.pml -- the reconfigure protocol for Spin: three members, one joiner, two proposers.

   Every step of a process is one access to the store or one message, so any order of them is any delay: a process that takes no step for a
   while was stopped, one that takes none any more has died. Anyone is suspected at any time: ABORT needs no reason. An instance dies and its
   process comes back as a new one, RESTARTS times. The mesh (JOINED, CONNECTED) decides nothing and is left out. Each generation holds one vote on one step; a member that says no
   is one that never says yes. Members of generation 1 are alike, so the first attempt lists the first of them.

   I1 one decision per uuid          a decision that is written never changes; with -DLEADER asserted where a member learns it
   I2 COMMIT implies all READY       asserted where COMMIT is written
   I3 generations grow               asserted where a member installs; a generation's list is written once
   I4 cur moves from base to new     asserted where COMMIT is written, with a member of base that wrote READY
   I5 no vote passes after READY     asserted where a member sees a vote pass
   I6 histories are prefixes         a history is a length: each applied step is compared with the longest history there is
   L1 all leave their attempt        no execution ends with a member that has promised

   Weakened, each must fail: -DLEADER -DNO_PROMISE -DNO_BASE -DNO_OVERLAP -DNOBODY_SAW_MEANS_NO */

#define N 4     /* processes; 0, 1 and 2 are the members of generation 1, 3 is the joiner */
#define FIRST 7 /* 0, 1 and 2 as bits */
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#ifndef RESTARTS
#define RESTARTS 1
#endif
#define GENERATIONS (ATTEMPTS + 2)

#define BIT(i) (1 << (i))
#define HAS(set, i) (((set) >> (i)) & 1)

#define ABSENT 0
#define OPEN 1
#define COMMIT 2
#define ABORT 3

#define NONE 0
#define YES 1

/* The store. */
byte top = 1;
byte current = 1;               /* the generation of cur */
byte opened = 0;                /* attempts */
byte try[ATTEMPTS];
byte list[ATTEMPTS];            /* processes, as bits */
byte lives[ATTEMPTS];           /* which of their two instances is meant, as bits */
byte base[ATTEMPTS];
byte made[ATTEMPTS];            /* the generation that COMMIT makes */
byte ready[ATTEMPTS];           /* who wrote READY, as bits */

/* What the READYs say that counts: of members of base, as bits, and the most steps among them. */
byte of_base[ATTEMPTS];
byte in_doubt[ATTEMPTS];        /* cast yes and saw no outcome */
byte seen[ATTEMPTS];
bit passed[ATTEMPTS];           /* the outcome: the vote in doubt */
#ifdef LEADER
byte told[ATTEMPTS];            /* the decision that members learned */
bit overruled[ATTEMPTS];        /* a second leader took over and told ABORT */
#endif

/* Generations: who is in them, and the votes that were sent. */
byte members[GENERATIONS];
byte member_lives[GENERATIONS];
byte yes[GENERATIONS];

/* Processes. */
byte life = 0;                  /* which of its two instances each process is, as bits */
byte generation[N];
byte promised[N];               /* attempt + 1, or 0 */
bit cast[N];
bit done[N];                    /* saw the outcome of its generation's vote */
bit state[N];
byte steps[N];
byte restarts = 0;

/* The longest history: the generation whose vote made each step. */
byte history[GENERATIONS];
byte longest = 0;

inline apply(i, g) {
  if
  :: steps[i] == longest -> history[longest] = g; longest++
  :: else -> assert(history[steps[i]] == g) /* I6 */
  fi;
  steps[i]++
}

/* Is the instance that process i is now meant by this attempt, by cur? */
#define LISTED(u, i) (HAS(list[u], i) && HAS(lives[u], i) == HAS(life, i))
#define IN_CURRENT(i) (HAS(members[current], i) && HAS(member_lives[current], i) == HAS(life, i))

inline open_attempt(who) {
  top++;
  try[opened] = OPEN;
  list[opened] = who;
  lives[opened] = life & who;
  base[opened] = current;
  made[opened] = top;
  opened++
}

inline write_ready(u, i) {
  ready[u] = ready[u] | BIT(i);
  promised[i] = u + 1;
  if
  :: generation[i] == base[u] ->
     of_base[u] = of_base[u] | BIT(i);
     if :: cast[i] == YES && !done[i] -> in_doubt[u] = in_doubt[u] | BIT(i) :: else fi;
     if :: state[i] && steps[i] > seen[u] -> seen[u] = steps[i] :: else fi
  :: else
  fi
}

inline commit(u) {
  assert((ready[u] & list[u]) == list[u]); /* I2 */
  assert(current == base[u]);              /* I4 */
  assert(of_base[u] != 0);                 /* I4 */
  try[u] = COMMIT;
  current = made[u];
  members[current] = list[u];
  member_lives[current] = lives[u];
#ifndef NOBODY_SAW_MEANS_NO
  passed[u] = (in_doubt[u] == of_base[u]);
#endif
  forget(u)
}

/* What nobody reads any more. */
inline forget(u) { list[u] = 0; lives[u] = 0; ready[u] = 0; of_base[u] = 0; in_doubt[u] = 0 }
inline abort(u) { try[u] = ABORT; base[u] = 0; made[u] = 0; seen[u] = 0; forget(u) }
inline clear(i) { generation[i] = 0; promised[i] = 0; cast[i] = NONE; done[i] = 0; state[i] = 0; steps[i] = 0 }

inline install(u, i) {
  assert(made[u] > generation[i]); /* I3 */
  if
  :: generation[i] == base[u] && state[i] && (steps[i] < seen[u] || passed[u]) -> apply(i, base[u])
  :: else
  fi;
  k = generation[i];
  generation[i] = made[u];
  promised[i] = 0; cast[i] = NONE; done[i] = 0;
  /* What nobody reads any more. */
  if :: k && generation[0] != k && generation[1] != k && generation[2] != k && generation[3] != k -> yes[k] = 0 :: else fi;
  if
  :: promised[0] != u + 1 && promised[1] != u + 1 && promised[2] != u + 1 && promised[3] != u + 1 ->
     base[u] = 0; made[u] = 0; seen[u] = 0; passed[u] = 0
  :: else
  fi;
  k = 0
}

/* Work goes on in the old generation only before READY, unless that is what is broken. */
#ifdef NO_PROMISE
#define MAY_WORK(i) (generation[i] > 0)
#else
#define MAY_WORK(i) (generation[i] > 0 && !promised[i])
#endif

#define IS_DONOR(j, i) (state[j] && generation[j] == generation[i])
#define HEAL(i, j) :: d_step { MAY_WORK(i) && !state[i] && IS_DONOR(j, i) -> steps[i] = steps[j]; state[i] = 1 }
#define PROMISE(u, i) \
  :: d_step { !promised[i] && try[u] == OPEN && LISTED(u, i) && !HAS(ready[u], i) && \
              (generation[i] == base[u] || generation[i] == 0) -> write_ready(u, i) }

#ifdef LEADER
#define TELL(u, what) assert(told[u] == ABSENT || told[u] == what); told[u] = what; /* I1 */
#else
#define TELL(u, what)
#endif

proctype Process(byte i) {
  byte u, k;
end:
  do
  /* A vote: yes when all gradients are here. */
  :: d_step { MAY_WORK(i) && state[i] && cast[i] == NONE && !done[i] ->
       cast[i] = YES; yes[generation[i]] = yes[generation[i]] | BIT(i) }
  :: d_step { MAY_WORK(i) && cast[i] == YES && !done[i] && yes[generation[i]] == members[generation[i]] ->
       assert(!promised[i]); /* I5 */
       apply(i, generation[i]); done[i] = 1 }
  /* A joiner pulls the state. */
  HEAL(i, 0)
  HEAL(i, 1)
  HEAL(i, 2)
  HEAL(i, 3)
  /* PROMISED, LEARN and INSTALL. An evicted member is stale: it comes back as a new instance only. */
  PROMISE(0, i)
  PROMISE(1, i)
#if ATTEMPTS > 2
  PROMISE(2, i)
#endif
  :: d_step { promised[i] && try[promised[i] - 1] == COMMIT -> TELL(promised[i] - 1, COMMIT) u = promised[i] - 1; install(u, i); u = 0 }
  :: d_step { promised[i] && try[promised[i] - 1] == ABORT -> TELL(promised[i] - 1, ABORT) promised[i] = 0 }
#ifdef LEADER
  /* The second leader has not heard of the decision and takes its own. */
  :: d_step { promised[i] && try[promised[i] - 1] == COMMIT && !overruled[promised[i] - 1] -> overruled[promised[i] - 1] = 1 }
  :: d_step { promised[i] && overruled[promised[i] - 1] -> TELL(promised[i] - 1, ABORT) promised[i] = 0 }
#endif
  :: d_step { restarts < RESTARTS && generation[i] > 0 -> restarts++; life = life ^ BIT(i); clear(i) }
  od
}

#ifdef NO_OVERLAP
#define CONTINUES(who) 1
#else
#define CONTINUES(who) ((HAS(who, 0) && IN_CURRENT(0)) || (HAS(who, 1) && IN_CURRENT(1)) || \
                        (HAS(who, 2) && IN_CURRENT(2)) || (HAS(who, 3) && IN_CURRENT(3)))
#endif
#define PROPOSE(who) :: d_step { opened < ATTEMPTS && (opened > 0 || IS_FIRST(who)) && CONTINUES(who) -> open_attempt(who) }
#define IS_FIRST(who) ((who & FIRST) == 0 || (who & FIRST) == 1 || (who & FIRST) == 3 || (who & FIRST) == FIRST)

/* Anyone may propose, decide what is ready, and abort, for any reason or none. A proposer remembers nothing, so one process stands for two. */
proctype Proposer() {
end:
  do
  PROPOSE(1) PROPOSE(2) PROPOSE(3) PROPOSE(4) PROPOSE(5) PROPOSE(6) PROPOSE(7) PROPOSE(8)
  PROPOSE(9) PROPOSE(10) PROPOSE(11) PROPOSE(12) PROPOSE(13) PROPOSE(14) PROPOSE(15)
#define DECIDE(u) \
  :: d_step { try[u] == OPEN && (ready[u] & list[u]) == list[u] && IS_BASE(u) && OVERLAPS(u) -> commit(u) } \
  :: d_step { try[u] == OPEN -> abort(u) }
#ifdef NO_BASE
#define IS_BASE(u) 1
#else
#define IS_BASE(u) (current == base[u])
#endif
#ifdef NO_OVERLAP
#define OVERLAPS(u) 1
#else
#define OVERLAPS(u) (of_base[u] != 0)
#endif
  DECIDE(0)
  DECIDE(1)
#if ATTEMPTS > 2
  DECIDE(2)
#endif
  od
}

/* L1: when nothing can happen any more, nobody is held by a promise. */
proctype Watcher() {
end:
  timeout -> assert(!promised[0] && !promised[1] && !promised[2] && !promised[3])
}

init {
  d_step {
    members[1] = FIRST;
    generation[0] = 1; generation[1] = 1; generation[2] = 1;
    state[0] = 1; state[1] = 1; state[2] = 1;
  }
  atomic { run Process(0); run Process(1); run Process(2); run Process(3); run Proposer(); run Watcher() }
}
