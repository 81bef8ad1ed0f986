import { attackHead } from './attack-head.ts'
import { type Attempt, freshPair, partsOf, type SignedParts, wireOf, withHeader } from './attempt.ts'
import type { Dice } from './dice.ts'
import { changeByte, changeCharacter, mutateBytes } from './mutate-bytes.ts'
import { mutateJson } from './mutate-json.ts'
import { METHOD_PATHS } from './proof.ts'
import { harmless, harmlessWhenChanged, hopeless, wouldBeStored } from './requests.ts'
import type { World } from './world.ts'

type Attack = (world: World, dice: Dice, values: readonly string[]) => Attempt

const BODY_MAX_BYTES = 1024 * 1024
const HEX = '0123456789abcdef'
const DIGITS = '0123456789'

/** Makes the one request of a run. The same dice make the same again, but for the secrets and the time of day. */
export function attemptOf(world: World, dice: Dice, values: readonly string[]): Attempt {
  return dice.weighted(ATTACKS)(world, dice, values)
}

const ATTACKS: readonly (readonly [number, Attack])[] = [
  [4, leaveAsItIs],
  [30, changeJsonAndSign],
  [14, changeBytesAndSign],
  [14, changeOneByte],
  [6, signWrongly],
  [6, useRefusedCredential],
  [4, replay],
  [14, attackHead],
]

function leaveAsItIs(world: World, dice: Dice): Attempt {
  const wire = wireOf(partsOf(harmless(world, dice), world, dice))
  return { attack: 'none: a valid request', wire, expected: 'success' }
}

function changeJsonAndSign(world: World, dice: Dice, values: readonly string[]): Attempt {
  const request = dice.chance(0.8) ? hopeless(world, dice) : harmlessWhenChanged(world, dice)
  const parts = partsOf(request, world, dice)
  const body = Buffer.from(mutateJson(request.body, dice, values))
  return changedBody('JSON changed, then signed', { ...parts, body })
}

function changeBytesAndSign(world: World, dice: Dice): Attempt {
  const request = dice.chance(0.8) ? hopeless(world, dice) : harmlessWhenChanged(world, dice)
  const parts = partsOf(request, world, dice)
  const body = mutateBytes(parts.body, dice)
  return changedBody('bytes changed, then signed', { ...parts, body })
}

/** A body that is too large is refused before anybody looks at its proof. */
function changedBody(attack: string, parts: SignedParts): Attempt {
  const attempt = { attack, wire: wireOf(parts), expected: 'judged' } as const
  return parts.body.length > BODY_MAX_BYTES ? { ...attempt, odd_head: true } : attempt
}

/** A valid request with one byte changed in any part that its signature covers: it must never succeed. */
function changeOneByte(world: World, dice: Dice): Attempt {
  const request = dice.chance(0.5) ? wouldBeStored(world, dice) : harmless(world, dice)
  const parts = partsOf(request, world, dice)
  const wire = wireOf(parts)
  const change = dice.pick<readonly [string, () => typeof wire]>([
    ['body', () => ({ ...wire, body: changeByte(wire.body, dice) })],
    ['signature', () => withHeader(wire, signatureHeader(parts), (hex) => changeCharacter(hex, dice, HEX))],
    [
      'application id',
      () => withHeader(wire, 'x-data-application-id', (id) => changeCharacter(id, dice, DIGITS)),
    ],
    ...(parts.target === METHOD_PATHS.v1 || parts.pair === undefined
      ? []
      : ([
          [
            'timestamp',
            () => withHeader(wire, 'x-data-timestamp', (text) => changeCharacter(text, dice, DIGITS)),
          ],
          ['nonce', () => withHeader(wire, 'x-data-nonce', (text) => changeCharacter(text, dice, HEX))],
          ['path', () => ({ ...wire, target: changeCharacter(wire.target, dice, HEX) })],
        ] as const)),
  ])
  const [part, changed] = change
  return { attack: `one byte changed: ${part}`, wire: changed(), expected: 'refusal', odd_head: true }
}

function signatureHeader({ target }: SignedParts): string {
  return target === METHOD_PATHS.v2 ? 'x-data-signature' : 'x-data-hash'
}

/** Signed as somebody else, in another way, or by nobody. */
function signWrongly(world: World, dice: Dice): Attempt {
  const parts = partsOf(wouldBeStored(world, dice), world, dice)
  const { v1, v2 } = world.usable
  const wire = dice.pick([
    () => wireOf({ ...parts, secret: dice.hex(32) }),
    () => wireOf({ ...parts, secret: '' }),
    () => wireOf({ ...parts, secret: parts.secret.toUpperCase() }),
    () => wireOf({ ...parts, credential: parts.credential === v1 ? v2 : v1 }),
    () => withHeader(wireOf(parts), 'x-data-application-id', () => `90${dice.integer(1_000_000)}`),
    () => withHeader(wireOf(parts), signatureHeader(parts), () => dice.hex(64)),
    // The body's own signature of the other version, under this version's header.
    () => ({
      ...wireOf(parts),
      target: parts.target === METHOD_PATHS.v1 ? METHOD_PATHS.v2 : METHOD_PATHS.v1,
    }),
    () => ({ ...wireOf(parts), headers: [['Content-Type', 'application/json'] as const] }),
  ])
  return { attack: 'signed wrongly', wire: wire(), expected: 'refusal' }
}

/** A credential that proves itself and is refused all the same, or is used where it does not belong. */
function useRefusedCredential(world: World, dice: Dice): Attempt {
  const parts = partsOf(hopeless(world, dice), world, dice)
  const { v1, v2 } = world.usable
  const of_other_version = parts.target === METHOD_PATHS.v2 ? v1 : v2
  const is_resend = !Object.values(METHOD_PATHS).some((path) => path === parts.target)
  const credential = dice.pick(is_resend ? world.refused : [...world.refused, of_other_version])
  const [secret = ''] = credential.secrets
  const wire = wireOf({ ...parts, credential, secret })
  return { attack: 'a credential that is refused', wire, expected: 'refusal' }
}

/** Freshness: half a pair, an old or a future timestamp, a nonce that was used. */
function replay(world: World, dice: Dice): Attempt {
  const parts = partsOf(harmless(world, dice), world, dice)
  const fresh = freshPair(dice)
  const now_s = Math.floor(Date.now() / 1000)
  const distance_s = dice.pick([310, 3_600, 2_000_000_000])
  const pair = dice.pick([
    { ...fresh, timestamp: String(now_s + distance_s) },
    { ...fresh, timestamp: String(Math.max(0, now_s - distance_s)) },
    { ...fresh, timestamp: `${fresh.timestamp}000` },
    { ...fresh, timestamp: `${fresh.timestamp}.0` },
    { ...fresh, timestamp: ` ${dice.pick(['', '-1', '+1', '0x10', '1e9'])}` },
    { ...fresh, nonce: '' },
    { ...fresh, nonce: 'with space inside it' },
    { ...fresh, nonce: 'n'.repeat(129) },
    { ...fresh, nonce: 'caf\u00e9-caf\u00e9-caf\u00e9-caf\u00e9' },
  ])
  const used = { ...parts, credential: world.usable.v2, secret: world.usable.v2.secrets[0] ?? '' }
  const reused = { ...used, target: METHOD_PATHS.v2, pair: { ...fresh, nonce: world.spent.nonce() } }
  const half = wireOf({ ...parts, pair: fresh })
  const lost = dice.pick(['X-Data-Timestamp', 'X-Data-Nonce'])
  const wire = dice.pick([
    () => wireOf({ ...parts, pair }),
    () => wireOf(reused),
    () => ({ ...half, headers: half.headers.filter(([name]) => name !== lost) }),
  ])
  return { attack: 'not fresh', wire: wire(), expected: 'refusal' }
}
