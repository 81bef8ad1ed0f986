import { sleep } from '#lib/base/time.ts'
import type { WireResponse } from '../../parts/http/serve-in-memory.ts'
import type { Choices } from '../../parts/random.ts'
import type { ProviderFaults } from './faults.ts'

/** Responds as a provider with faults does: late, or with something else. `undefined` closes the connection. */
export async function respond(
  choices: Choices,
  faults: ProviderFaults,
  response: WireResponse,
): Promise<WireResponse | undefined> {
  if (choices.chance(faults.slow_response)) await sleep(choices.between(1, faults.slow_max_ms))
  return choices.chance(faults.bad_response) ? badResponse(choices) : response
}

/** Makes a create, and responds. Of the refunds that are lost, half were made. */
export function respondToCreate(
  choices: Choices,
  faults: ProviderFaults,
  is_refund: boolean,
  create: () => WireResponse,
): Promise<WireResponse | undefined> {
  const is_lost = is_refund && faults.lost_refund > 0 && choices.chance(faults.lost_refund)
  if (!is_lost) return respond(choices, faults, create())
  if (choices.chance(0.5)) create()
  return Promise.resolve(undefined)
}

/** A response that says nothing about the operation; `undefined` closes the connection. */
function badResponse(choices: Choices): WireResponse | undefined {
  return choices.pick([
    undefined,
    { status: 500, headers: {}, body: Buffer.from('Fault') },
    json(200, { result: 'of another protocol' }),
  ])
}

/** A response with a JSON body. */
export function json(status: number, body: object): WireResponse {
  return { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(body)) }
}
