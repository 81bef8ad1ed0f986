import { attackHead } from './attack-head.ts'
import {
  type Attempt,
  freshPair,
  signRequest,
  type UnsignedRequest,
  unsignedRequestOf,
  withHeader,
} from './attempt.ts'
import type { Choices } from './choices.ts'
import { changeByte, changeCharacter, mutateBytes } from './mutate-bytes.ts'
import { mutateJson } from './mutate-json.ts'
import { acceptableDeposit, readOnlyRequest, repeatableRequest, unacceptableRequest } from './requests.ts'
import { METHOD_PATHS } from './signing.ts'
import type { FuzzSystem } from './system.ts'

type Attack = (system: FuzzSystem, choices: Choices) => Attempt

const BODY_MAX_BYTES = 1024 * 1024
const HEX = '0123456789abcdef'
const DIGITS = '0123456789'

/** Makes the request of one run. The same choices make the same request, except for secrets, nonces and timestamps. */
export function attemptOf(system: FuzzSystem, choices: Choices): Attempt {
  return choices.weighted(ATTACKS)(system, choices)
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

function leaveAsItIs(system: FuzzSystem, choices: Choices): Attempt {
  const request = signRequest(unsignedRequestOf(repeatableRequest(system, choices), system, choices))
  return { attack: 'none: a valid request', request: request, expected: 'success' }
}

function changeJsonAndSign(system: FuzzSystem, choices: Choices): Attempt {
  const request = choices.chance(0.8)
    ? unacceptableRequest(system, choices)
    : readOnlyRequest(system, choices)
  const unsigned = unsignedRequestOf(request, system, choices)
  const body = Buffer.from(mutateJson(request.body, choices))
  return changedBody('JSON changed, then signed', { ...unsigned, body })
}

function changeBytesAndSign(system: FuzzSystem, choices: Choices): Attempt {
  const request = choices.chance(0.8)
    ? unacceptableRequest(system, choices)
    : readOnlyRequest(system, choices)
  const unsigned = unsignedRequestOf(request, system, choices)
  const body = mutateBytes(unsigned.body, choices)
  return changedBody('bytes changed, then signed', { ...unsigned, body })
}

/** A body that is too large is refused before its signature is checked. */
function changedBody(attack: string, unsigned: UnsignedRequest): Attempt {
  const attempt = { attack, request: signRequest(unsigned), expected: 'depends_on_body' } as const
  return unsigned.body.length > BODY_MAX_BYTES
    ? { ...attempt, may_fail_before_authentication: true }
    : attempt
}

/** Changes one byte of any signed part of a valid request. The request must never succeed. */
function changeOneByte(system: FuzzSystem, choices: Choices): Attempt {
  const valid = choices.chance(0.5) ? acceptableDeposit(system, choices) : repeatableRequest(system, choices)
  const unsigned = unsignedRequestOf(valid, system, choices)
  const request = signRequest(unsigned)
  const change = choices.pick<readonly [string, () => typeof request]>([
    ['body', () => ({ ...request, body: changeByte(request.body, choices) })],
    [
      'signature',
      () => withHeader(request, signatureHeader(unsigned), (hex) => changeCharacter(hex, choices, HEX)),
    ],
    [
      'application id',
      () => withHeader(request, 'x-data-application-id', (id) => changeCharacter(id, choices, DIGITS)),
    ],
    ...(unsigned.target === METHOD_PATHS.v1 || unsigned.pair === undefined
      ? []
      : ([
          [
            'timestamp',
            () => withHeader(request, 'x-data-timestamp', (text) => changeCharacter(text, choices, DIGITS)),
          ],
          ['nonce', () => withHeader(request, 'x-data-nonce', (text) => changeCharacter(text, choices, HEX))],
          ['path', () => ({ ...request, target: changeCharacter(request.target, choices, HEX) })],
        ] as const)),
  ])
  const [part, changed] = change
  return {
    attack: `one byte changed: ${part}`,
    request: changed(),
    expected: 'refusal',
    may_fail_before_authentication: true,
  }
}

function signatureHeader({ target }: UnsignedRequest): string {
  return target === METHOD_PATHS.v2 ? 'x-data-signature' : 'x-data-hash'
}

/** Signs with another secret, for another credential or version, or not at all. */
function signWrongly(system: FuzzSystem, choices: Choices): Attempt {
  const unsigned = unsignedRequestOf(acceptableDeposit(system, choices), system, choices)
  const { v1, v2 } = system.usable
  const request = choices.pick([
    () => signRequest({ ...unsigned, secret: choices.hex(64) }),
    () => signRequest({ ...unsigned, secret: '' }),
    () => signRequest({ ...unsigned, secret: unsigned.secret.toUpperCase() }),
    () => signRequest({ ...unsigned, credential: unsigned.credential === v1 ? v2 : v1 }),
    () => withHeader(signRequest(unsigned), 'x-data-application-id', () => `90${choices.integer(1_000_000)}`),
    () => withHeader(signRequest(unsigned), signatureHeader(unsigned), () => choices.hex(128)),
    // The signature of one version on the path of the other.
    () => ({
      ...signRequest(unsigned),
      target: unsigned.target === METHOD_PATHS.v1 ? METHOD_PATHS.v2 : METHOD_PATHS.v1,
    }),
    () => ({ ...signRequest(unsigned), headers: [['Content-Type', 'application/json'] as const] }),
  ])
  return { attack: 'signed wrongly', request: request(), expected: 'refusal' }
}

/** Signs correctly with a credential that is refused, or with one of the other version. */
function useRefusedCredential(system: FuzzSystem, choices: Choices): Attempt {
  const unsigned = unsignedRequestOf(unacceptableRequest(system, choices), system, choices)
  const { v1, v2 } = system.usable
  const of_other_version = unsigned.target === METHOD_PATHS.v2 ? v1 : v2
  const is_resend = !Object.values(METHOD_PATHS).some((path) => path === unsigned.target)
  const credential = choices.pick(is_resend ? system.refused : [...system.refused, of_other_version])
  const [secret = ''] = credential.secrets
  const request = signRequest({ ...unsigned, credential, secret })
  return { attack: 'a credential that is refused', request: request, expected: 'refusal' }
}

/** Sends half a replay pair, an old, future or malformed timestamp, a malformed nonce, or a used nonce. */
function replay(system: FuzzSystem, choices: Choices): Attempt {
  const unsigned = unsignedRequestOf(repeatableRequest(system, choices), system, choices)
  const fresh = freshPair(choices)
  const now_s = Math.floor(Date.now() / 1000)
  const distance_s = choices.pick([310, 3_600, 2_000_000_000])
  const pair = choices.pick([
    { ...fresh, timestamp: String(now_s + distance_s) },
    { ...fresh, timestamp: String(Math.max(0, now_s - distance_s)) },
    { ...fresh, timestamp: `${fresh.timestamp}000` },
    { ...fresh, timestamp: `${fresh.timestamp}.0` },
    { ...fresh, timestamp: ` ${choices.pick(['', '-1', '+1', '0x10', '1e9'])}` },
    { ...fresh, nonce: '' },
    { ...fresh, nonce: 'with space inside it' },
    { ...fresh, nonce: 'n'.repeat(129) },
    { ...fresh, nonce: 'caf\u00e9-caf\u00e9-caf\u00e9-caf\u00e9' },
  ])
  const used = { ...unsigned, credential: system.usable.v2, secret: system.usable.v2.secrets[0] ?? '' }
  const reused = { ...used, target: METHOD_PATHS.v2, pair: { ...fresh, nonce: system.used_nonce.nonce() } }
  const half = signRequest({ ...unsigned, pair: fresh })
  const lost = choices.pick(['X-Data-Timestamp', 'X-Data-Nonce'])
  const request = choices.pick([
    () => signRequest({ ...unsigned, pair }),
    () => signRequest(reused),
    () => ({ ...half, headers: half.headers.filter(([name]) => name !== lost) }),
  ])
  return { attack: 'not fresh', request: request(), expected: 'refusal' }
}
