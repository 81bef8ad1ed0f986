import { resendPath } from '../../gateway/paths.ts'
import type { Dice } from './dice.ts'
import { type FuzzCredential, METHOD_PATHS, type Pair, proofHeaders } from './proof.ts'
import type { ValidRequest } from './requests.ts'
import type { Header, Wire } from './wire.ts'
import type { World } from './world.ts'

/**
 * What an answer has to say: `success`, `refusal`, or `judged` for a body that was changed and then signed, which may
 * be another valid one.
 */
export type Expected = 'success' | 'refusal' | 'judged'

/** One request of the fuzzer and what must come of it. */
export interface Attempt {
  /** The kind of attack, for the report. */
  readonly attack: string
  readonly wire: Wire
  readonly expected: Expected
  /** The head is not that of a sound request, so it may be refused before anybody looks at its proof. */
  readonly odd_head?: true
}

/** A request that is right, in its parts, for an attack to change one of them. */
export interface SignedParts {
  readonly target: string
  readonly credential: FuzzCredential
  readonly secret: string
  readonly pair: Pair | undefined
  readonly body: Buffer
}

/** Signs a valid request as one of the usable credentials does, with or without the pair where that is optional. */
export function partsOf({ body, resend_of }: ValidRequest, world: World, dice: Dice): SignedParts {
  const version = dice.pick(['v1', 'v2'] as const)
  const credential = world.usable[version]
  const is_paired = version === 'v2' || dice.chance(0.5)
  return {
    target: resend_of === undefined ? METHOD_PATHS[version] : resendPath(resend_of),
    credential,
    secret: dice.pick(credential.secrets),
    pair: is_paired ? freshPair(dice) : undefined,
    body: Buffer.from(JSON.stringify(body)),
  }
}

/** A pair that nobody has used: the dice of no two runs are the same. */
export function freshPair(dice: Dice): Pair {
  const now_s = Math.floor(Date.now() / 1000)
  return { timestamp: String(now_s + dice.integer(400) - 200), nonce: dice.hex(16) }
}

/** The request that the parts make, signed over what is in them now. */
export function wireOf(
  { target, credential, secret, pair, body }: SignedParts,
  changes: Partial<Wire> = {},
): Wire {
  const headers: Header[] = [
    ['Content-Type', 'application/json'],
    ...proofHeaders(target, credential, secret, body, pair),
  ]
  return { verb: 'POST', target, headers, body, ...changes }
}

/** The same headers with the value of one changed; `name` is lower case. */
export function withHeader(wire: Wire, name: string, change: (value: string) => string): Wire {
  const headers = wire.headers.map(
    ([sent, value]): Header => (sent.toLowerCase() === name ? [sent, change(value)] : [sent, value]),
  )
  return { ...wire, headers }
}
