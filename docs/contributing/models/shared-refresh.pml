/*
 * How several hosts refresh one sign-in, exactly once: the protocol of docs/how-to/many-hosts.md, for SPIN.
 *
 *   spin -DHOSTS=3 -a shared-refresh.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan -m100000
 *
 * The provider rotates refresh tokens and ends the sign-in when a used-up one comes again. Refresh tokens are numbered; the
 * provider takes number `taken` and answers with the next. What may go wrong: a host crashes between any two steps and
 * starts again with what it had synced (`note`, `journal`); it pauses for any time (its lease ends meanwhile); a request
 * is late or its answer is lost; a transaction is applied and its answer is lost; the group is sealed under a new key, or the
 * record is written for another reason, in the middle of a refresh; a machine is cloned with its key, without its folder.
 *
 * Variants, each of which the same check must find wrong:
 *   -DLEASE      a lock that is a lease; whoever holds it sends, and writes what came
 *   -DFENCED     the same, and the write compares the revision that was read
 *   -DREVISION   intent first, but the answer is written only over the revision that was read
 *   -DTRUSTING   intent first, but a host with a note and no journal believes that it had not sent
 *   -DBYKEY      intent first, but "the same host" is the key, not the folder that holds the note
 *   -DEAGER      intent first, but whoever finds an intent whose lease has ended takes it over at once
 *   -DOLDKEY     intent first, but the answer is sealed under the key that was read at the beginning
 *   -DUNREAD     as TAKEOVER, but the intent is not read again before sending
 *   -DDROPPING   as TAKEOVER, but the late answer of the first host is dropped
 *   -DHASTY      as TAKEOVER, ANSWERS, but nobody waits for the late answer once the other host has had its own
 *   -DRESENDING  as TAKEOVER, but a token is sent though the late answer to it stands aside
 *   -DSTICKY     as TAKEOVER, GENTLE, but what is marked as lost stays so when the late answer of another host comes
 *   -DFORGETFUL  as RESTORED, but a refresh token is sent though this host knows that it is used up
 *   -DBLINDLY    as RESTORED, but what this host knows is put back whatever the set holds by then
 *   -DLEAVING    as EXPELLED, but the key is not compared again before sending
 * and what holds beside the protocol itself:
 *   -DTAKEOVER   an intent without lease is taken over because the type or a person says so; such sends are counted apart
 *   -DGENTLE     a used-up refresh token is refused, and the sign-in goes on
 *   -DANSWERS    as GENTLE, but the refresh token that has got the newest one gets another in its place
 *   -DRESTORED   the cluster is put back to what it was; a host that knows a token to be used up sends it no more, and puts
 *                back the newer one that it has
 *   -DEXPELLED   host 0 is expelled: it writes nothing any more, and the others take over the intent that it leaves once its
 *                request cannot be under way any more
 *
 * A host that has crashed may also never come back.
 */
#ifndef HOSTS
#define HOSTS 3
#endif
#ifndef REFRESHES
#define REFRESHES 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef REKEYS
#define REKEYS 1
#endif

#if defined(LEASE) || defined(FENCED)
#define LOCKING
#endif
#if defined(UNREAD) || defined(DROPPING) || defined(STICKY) || defined(HASTY) || defined(RESENDING)
#define TAKEOVER
#endif
#ifdef HASTY
#define ANSWERS
#endif
#if defined(FORGETFUL) || defined(BLINDLY)
#define RESTORED
#endif
#ifdef LEAVING
#define EXPELLED
#endif
#if defined(STICKY) || defined(ANSWERS)
#define GENTLE
#endif
#define TOKENS 12
#define NONCES 16

/* The key that the answer is sealed under: the transaction compares the epoch. */
#ifdef OLDKEY
#define SEALING_KEY key
#else
#define SEALING_KEY epoch
#endif

/* Whether the answer may take the place of what the set holds. */
#ifdef REVISION
#define STILL_THERE setRevision == revision
#else
#define STILL_THERE (setToken == old || lost)
#endif

/* A gentle provider refuses a used-up token and leaves the sign-in as it is. */
#ifdef GENTLE
#define ENDS skip
#else
#define ENDS ended = true
#endif

#ifdef ANSWERS
#define ISSUED takenFor = taken
#else
#define ISSUED skip
#endif

#ifdef RESTORED
#define LEARN known[me] = came
#else
#define LEARN skip
#endif

/* What is marked as lost is taken back by the answer that its refresh token has had. */
#ifdef STICKY
#define NOT_STUCK !lost
#else
#define NOT_STUCK true
#endif

/* Whether a request is one of which its host knows better. */
#ifdef RESTORED
#define KNEW knew[me] = token < known[me]
#define EXCUSED_BY_RESTORE (restored && !knew[host])
#else
#define KNEW skip
#define EXCUSED_BY_RESTORE false
#endif

/* What a take-over leaves to be waited for, and who is waited for. */
#ifdef TAKEOVER
#define AWAIT(nonce) if :: token == intentToken -> awaited[nonce] = true :: else fi
#ifdef HASTY
#define AWAITED false
#else
#define AWAITED awaited[nonce]
#endif
#define CAME awaited[nonce] = false
#else
#define AWAIT(nonce) skip
#define AWAITED false
#define CAME skip
#endif

/* Whether another host has the answer to a token already, as it stands in the cluster. */
#ifdef RESENDING
#define ANSWERED false
#else
#define ANSWERED (aside[token] != 0)
#endif

/* Before sending: the key is the one of the beginning. */
#ifdef LEAVING
#define SAME_KEY true
#else
#define SAME_KEY epoch == key
#endif

/* Host 0, once it is expelled, and what it has under way. */
#ifdef EXPELLED
#define OUTSIDE (expelled && me == 0)
#define UNDER_WAY(what) if :: me == 0 -> underWay = what :: else fi
#define ENDED_BY_RULE false
#define COUNTS(host) (host != 0 || !expelled)
#else
#define OUTSIDE false
#define UNDER_WAY(what) skip
#define ENDED_BY_RULE ended
#define COUNTS(host) true
#endif

/* Whose intent may be taken over. */
#if defined(EAGER) || defined(TAKEOVER)
#define MAY_TAKE_OVER !leased
#else
#ifdef EXPELLED
#define MAY_TAKE_OVER (!leased && expelled && intentHost == 0 && request[0] == 0)
#endif
#endif
#ifdef MAY_TAKE_OVER
#define TAKES_OVER MAY_TAKE_OVER
#else
#define TAKES_OVER false
#endif

#define NOBODY 255
#define REFUSED 255

/* The provider. */
byte taken = 1;             /* the refresh token that it takes */
#ifdef ANSWERS
byte takenFor = 0;          /* the one that has got it */
bool seen[TOKENS];          /* what has come already */
#endif
bool ended = false;         /* a used-up one came again: no sign-in any more */
bool retried[TOKENS];       /* tokens that were deliberately sent once more */

/* The cluster: one account. */
byte setToken = 1;          /* the refresh token in the token set */
byte setRevision = 1;       /* grows with each write of the set */
byte epoch = 1;             /* of the group's data key */
byte sealed = 1;            /* the epoch of the key that the set is sealed under */
byte intentNonce = 0;       /* 0: no intent */
byte intentHost = NOBODY;
byte intentToken = 0;       /* the digest of the refresh token that is to be sent */
bool lost = false;          /* the set says that its refresh token was refused */
bool leased = false;        /* the intent's lease, or the lock itself in the variants that lock */
byte leaseHost = NOBODY;
short aside[TOKENS];        /* by the token that they replaced, the late answers of hosts whose intents were taken over: a bit each */
#ifdef TAKEOVER
bool awaited[NONCES];       /* the intents that were taken over and whose answers have not come */
#endif

#ifdef RESTORED
/* What the cluster was at some time, and whether it has been put back to that. */
byte oldToken = 0;
bool restored = false;
byte known[HOSTS];          /* every refresh token below this one is known to be used up; synced */
bool knew[HOSTS];           /* whether what was sent last was known to be used up */
#endif

#ifdef EXPELLED
bool expelled = false;
bool underWay = false;      /* host 0 has sent, and its answer is not in the set yet */
#endif

/* What each host has synced, per folder. */
byte note[HOSTS];           /* the nonce of its intent */
byte journal[HOSTS];        /* the answer; 0: none */
byte journalOf[HOSTS];      /* the token that it replaced */

/* The network. */
byte request[HOSTS];        /* on its way to the provider; 0: none */
byte answer[HOSTS];         /* on its way back; 0: none */

byte nonces = 0;
byte crashes = 0;
byte losses = 0;
byte rekeys = 0;
byte working = HOSTS;
bool excused = false;       /* a crash between sending and the journal, or a lost answer: the inherent loss */

/* A host may stop between any two steps. What had left is on its way; an answer that comes then finds nobody. */
#define STEP(what) \
    if \
    :: atomic { what } \
    :: atomic { crashes < CRASHES -> crashes++; if :: request[me] || answer[me] || sent -> excused = true :: else fi; \
           answer[me] = 0; sent = false; if :: goto start :: goto done fi } \
    fi

/* The newest of the late answers to a token takes its place. */
#define ADOPT(replaced) \
    other = TOKENS - 1; \
    do \
    :: other > 0 && !(aside[replaced] & (1 << other)) -> other-- \
    :: else -> break \
    od; \
    setToken = other; aside[replaced] = aside[replaced] & ~(1 << other); other = 0; lost = false

/* The token in the set was refused: that of a late answer is tried, where there is one. */
#define TRY_ASIDE \
    place = TOKENS - 1; \
    do \
    :: place > 0 && aside[place] == 0 -> place-- \
    :: else -> break \
    od; \
    if \
    :: place > 0 -> ADOPT(place); place = 0 \
    :: else -> lost = true \
    fi

/* A transaction whose answer is lost is read again by its nonce: here both are one step, for the cluster orders them. */

proctype Host(byte me) {
    byte token, revision, key, nonce, came, old;
    byte left = REFRESHES;
    byte place = 0, other = 0;
    bool sent = false;          /* the request has left, and its answer is not safe yet */
    bool deliberate = false;
    bool gone;                  /* the sign-in was refused */

start:
    sent = false;
    deliberate = false;
#ifndef LOCKING
    /* What an earlier life of this host has left: the journal is replayed before anything else. */
    if
    :: journal[me] != 0 -> came = journal[me]; old = journalOf[me]; nonce = note[me]; goto store
    :: else
    fi;
#endif

again:
    deliberate = false;
    if
    :: left == 0 -> goto done
    :: else -> left--
    fi;
    STEP(if :: OUTSIDE -> goto done :: else fi; token = setToken; revision = setRevision; key = epoch; gone = lost);
#ifndef LOCKING
    /* A refresh token that was refused is sent no more. */
    if
    :: gone -> goto waiting
    :: else
    fi;
#endif
#ifdef RESTORED
#ifndef FORGETFUL
    if
    :: token < known[me] ->
        /* What it knows is put back, over what it has read. */
#ifdef BLINDLY
        STEP(assert(setToken < known[me]); setToken = known[me]; setRevision++; lost = false);
#else
        STEP(if
            :: setRevision == revision && epoch == key ->
                assert(setToken < known[me]); setToken = known[me]; setRevision++; lost = false; sealed = epoch
            :: else
            fi);
#endif
        goto waiting
    :: else
    fi;
#endif
    if
    :: token > known[me] -> known[me] = token
    :: else
    fi;
#endif

#ifdef LOCKING
    STEP(if :: !leased -> leased = true; leaseHost = me :: else -> goto again fi);
    STEP(token = setToken; revision = setRevision);
    STEP(request[me] = token; sent = true);
    atomic {
        if
        :: answer[me] != 0 -> came = answer[me]; answer[me] = 0
        :: losses < LOSSES && request[me] == 0 && answer[me] == 0 -> losses++; excused = true; came = 0
        fi
    };
    sent = false;
    if
    :: came == 0 || came == REFUSED -> goto unlock
    :: else
    fi;
#ifdef FENCED
    STEP(if :: setRevision == revision -> setToken = came; setRevision++ :: else fi);
#else
    STEP(setToken = came; setRevision++);
#endif
unlock:
    STEP(if :: leaseHost == me -> leased = false; leaseHost = NOBODY :: else fi);
    goto again;
#else

    /* The late answer to this token takes its place. */
    if
    :: ANSWERED && (intentNonce == 0 || TAKES_OVER) ->
        STEP(if
            :: ANSWERED && setRevision == revision && epoch == key && (intentNonce == 0 || TAKES_OVER) ->
                if
                :: intentNonce != 0 -> AWAIT(intentNonce)
                :: else
                fi;
                ADOPT(token); setRevision++; sealed = epoch;
                intentNonce = 0; intentHost = NOBODY
            :: else
            fi);
        goto waiting
    :: else
    fi;

    /* 5. An intent that is there already. */
    if
    :: atomic { intentNonce == 0 -> skip }
    :: atomic { intentNonce != 0 && intentNonce == note[me] && journal[me] == 0 ->
#ifdef TRUSTING
           token = intentToken; nonce = intentNonce; leased = true; goto send
#else
           goto waiting
#endif
       }
    :: atomic { intentNonce != 0 && intentNonce != note[me] ->
#ifdef BYKEY
           /* Hosts 0 and 1 are clones of one machine: one key, two folders. */
           if
           :: intentHost != NOBODY && intentHost < 2 && me < 2 && !leased ->
               note[me] = intentNonce; token = intentToken; nonce = intentNonce; leased = true; goto send
           :: else
           fi;
#endif
#ifdef MAY_TAKE_OVER
           if
           :: MAY_TAKE_OVER ->
               nonces++; nonce = nonces; note[me] = nonce; token = setToken; key = epoch;
#if defined(TAKEOVER) || defined(EXPELLED)
               if
               :: token == intentToken -> retried[token] = true; deliberate = true
               :: else
               fi;
               AWAIT(intentNonce);
#endif
               intentNonce = nonce; intentHost = me; intentToken = token; leased = true; leaseHost = me;
               goto reread
           :: else
           fi;
#endif
           goto waiting
       }
    fi;

    /* 2. The note, synced; then the intent, if the set is as it was read. */
    STEP(nonces++; nonce = nonces; note[me] = nonce);
    STEP(if
        :: intentNonce == 0 && setRevision == revision && epoch == key ->
            intentNonce = nonce; intentHost = me; intentToken = token; leased = true; leaseHost = me
        :: else -> goto waiting
        fi);

reread:
    /* 3. Still one's own, and well within the lease: the clock is read after the intent, and the request leaves at once. */
#ifndef UNREAD
    /* Under the same key, too: it is the last moment at which an expelled host can be kept from sending. What is not sent is
       taken away by its own nonce. */
    STEP(if
        :: intentNonce == nonce && leased && SAME_KEY && !ANSWERED ->
            assert(aside[token] == 0);
            request[me] = token; sent = true; KNEW; UNDER_WAY(true)
        :: else ->
            if
            :: intentNonce == nonce -> intentNonce = 0; intentHost = NOBODY; leased = false
            :: else
            fi;
            goto waiting
        fi);
    goto sending;
#endif
send:
    STEP(assert(deliberate || !retried[token]); request[me] = token; sent = true; KNEW);

sending:
    atomic {
        if
        :: answer[me] != 0 -> came = answer[me]; answer[me] = 0
        :: losses < LOSSES && request[me] == 0 && answer[me] == 0 -> losses++; excused = true; came = 0
        fi
    };
    if
    :: came == 0 -> sent = false; goto waiting
    :: came == REFUSED ->
        /* The sign-in is gone: the set is marked, which is a write like any other. */
        sent = false;
        UNDER_WAY(false);
        STEP(if :: intentNonce == nonce && !OUTSIDE -> intentNonce = 0; intentHost = NOBODY; leased = false; setRevision++;
                       if :: setToken == token -> TRY_ASIDE
                          :: else fi
                :: else fi);
        goto waiting
    :: else
    fi;

    /* 4. The journal, synced; then the set. */
    STEP(journal[me] = came; journalOf[me] = token; sent = false; LEARN);
    old = token;
store:
    atomic {
        if
        :: OUTSIDE -> goto done
        :: else
        fi;
        UNDER_WAY(false);
        if
        :: intentNonce == nonce ->
            if
            :: STILL_THERE && NOT_STUCK -> setToken = came; setRevision++; lost = false; sealed = SEALING_KEY; assert(sealed == epoch)
            :: else
            fi;
            CAME;
            intentNonce = 0; intentHost = NOBODY; leased = false
#ifndef DROPPING
        /* Taken over, and settled by a refusal: what the set holds is what this answer replaces, or is worth nothing. */
        :: intentNonce == 0 && (setToken == old || lost) ->
            if
            :: NOT_STUCK -> setToken = came; setRevision++; lost = false; sealed = epoch
            :: else
            fi;
            CAME
        /* Taken over by somebody who is at it, or who has had an answer: that may be refused. */
        :: intentNonce != nonce && (intentNonce != 0 && intentToken == old || intentNonce == 0 && setToken != old && !lost && AWAITED ||
                                    intentNonce != 0 && intentToken != old && AWAITED) ->
            aside[old] = aside[old] | (1 << came); CAME
#endif
        /* It was there already, or another grant has come in its place. */
        :: else
        fi;
        journal[me] = 0; journalOf[me] = 0
    };
    goto again;

waiting:
    /* Exit 6: somebody else is at it, or nobody knows. Later calls try again. */
    goto again;
#endif

done:
    atomic { working-- }
}

/* Takes requests when they come, however late. */
proctype Provider() {
    byte host;
end:
    do
    :: atomic {
        select (host : 0 .. HOSTS - 1);
        if
        :: request[host] != 0 ->
#ifdef ANSWERS
            /* What was issued since may be worth more than a token that comes for the first time. */
            assert(!seen[request[host]] || retried[request[host]]); seen[request[host]] = true;
#endif
            if
            :: request[host] == taken && !ended -> ISSUED; taken++; answer[host] = taken
            :: request[host] == taken && ended -> answer[host] = REFUSED
#ifdef ANSWERS
            :: request[host] != taken && request[host] == takenFor -> taken++; answer[host] = taken
            :: request[host] != taken && request[host] != takenFor -> answer[host] = REFUSED
#else
            :: request[host] != taken ->
                assert(retried[request[host]] || EXCUSED_BY_RESTORE); ENDS; answer[host] = REFUSED
#endif
            fi;
            request[host] = 0
        :: else
        fi }
    :: working == 0 -> break
    od
}

/* Leases end when their holder pauses or has gone; the group is sealed anew, in the middle of a refresh, too, and labels are
   changed at any time. */
proctype World() {
end:
    do
    :: atomic { leased -> leased = false; leaseHost = NOBODY }
    :: atomic { rekeys < REKEYS -> rekeys++; epoch++ }
    :: atomic { sealed != epoch -> sealed = epoch; setRevision++ }
    :: atomic { rekeys < REKEYS -> rekeys++; setRevision++ }
#ifdef EXPELLED
    :: atomic { !expelled -> expelled = true; epoch++; excused = excused || underWay }
#endif
#ifdef RESTORED
    :: atomic { oldToken == 0 && intentNonce == 0 -> oldToken = setToken }
    :: atomic { oldToken != 0 && !restored ->
           restored = true; setToken = oldToken; setRevision++; intentNonce = 0; intentHost = NOBODY; leased = false; lost = false }
#endif
    :: working == 0 -> break
    od
}

/* When all is quiet, the token that the provider takes is in the set, or kept where the next run finds it. */
proctype Judge() {
    byte host = 0;
    bool kept;
    working == 0;
    d_step {
        kept = (setToken == taken && !lost) || excused || ENDED_BY_RULE;
        do
        :: host < TOKENS -> kept = kept || (aside[host] & (1 << taken) && !lost); host++
        :: else -> break
        od;
        host = 0;
        do
        :: host < HOSTS ->
            kept = kept || (COUNTS(host) && (journal[host] == taken || request[host] != 0 || answer[host] != 0));
#ifdef RESTORED
            /* Whoever knows it puts it back. */
            kept = kept || (restored && known[host] == taken);
#endif
            host++
        :: else -> break
        od;
        assert(kept)
    }
}

init {
    byte host = 0;
    atomic {
        do
        :: host < HOSTS -> run Host(host); host++
        :: else -> break
        od;
        run Provider(); run World(); run Judge()
    }
}
