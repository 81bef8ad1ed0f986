import { Code, ConnectError } from '@connectrpc/connect'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { sleep } from '#lib/base/time.ts'
import { SCOPES } from '#lib/contract/methods.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import type { Choices } from '../parts/random.ts'
import type { History } from './history.ts'

/** What the creations of the operator need. */
export interface RegistrarDeps {
  readonly clientOf: ClientOf
  readonly choices: Choices
  readonly history: Pick<History, 'problems' | 'created'>
  /** Whether creations may still be sent. */
  readonly isOpen: () => boolean
}

/** What a creation was answered with. A repetition has the same secret, or none. */
interface CreationAnswer {
  readonly id: string
  readonly secret?: string
}

/** The kinds of what belongs to a merchant, as the registry names their collections. */
export const OWNED = ['credentials', 'routes', 'endpoints'] as const

/**
 * Creates merchants, and one credential, route and endpoint for each. It repeats every creation under its `operation_id` until it
 * has an answer, also twice at once and after that. All answers must name the same resource (O12).
 */
export async function runRegistrar(deps: RegistrarDeps): Promise<void> {
  const { clientOf, choices, isOpen } = deps
  for (let number = 1; isOpen(); number += 1) {
    const name = `registered ${number}`
    const merchantId = await createRepeatedly(deps, `merchants ${name}`, async () => {
      const given = { name, timezone: 'UTC', environments: [Environment.TEST], operationId: name }
      const { merchant } = await clientOf(MerchantService).createMerchant(given)
      return { id: merchant?.merchantId ?? '' }
    })
    if (merchantId !== undefined)
      await Promise.all(
        OWNED.map((kind) =>
          createRepeatedly(deps, `${kind} ${merchantId}`, () => CREATE[kind](clientOf, merchantId)),
        ),
      )
    await sleep(choices.between(0, 500))
  }
}

const CREATE: Readonly<
  Record<(typeof OWNED)[number], (of: ClientOf, merchantId: string) => Promise<CreationAnswer>>
> = {
  async credentials(clientOf, merchantId) {
    const { credential, secret } = await clientOf(CredentialService).createCredential({
      ...ownedBy(merchantId),
      apiVersion: ApiVersion.V2,
      scopes: [...SCOPES],
    })
    return { id: credential?.applicationId ?? '', secret }
  },
  async routes(clientOf, merchantId) {
    const { route } = await clientOf(RouteService).createRoute({
      ...ownedBy(merchantId),
      direction: Direction.IN,
      method: 'upi',
      currency: 'INR',
      connector: 'sandbox',
      providerAccounts: ['sandbox'],
      expiresInSeconds: 60,
      purpose: 'normal',
    })
    return { id: route?.serviceId ?? '' }
  },
  async endpoints(clientOf, merchantId) {
    const { endpoint, secret } = await clientOf(EndpointService).createEndpoint({
      ...ownedBy(merchantId),
      url: 'https://nowhere.example.com/callbacks',
      events: ['payment.completed'],
    })
    return { id: endpoint?.endpointId ?? '', secret }
  },
}

function ownedBy(merchantId: string) {
  return { merchantId, environment: Environment.TEST, operationId: 'only' }
}

/** Sends a creation until it is answered, and often again. Returns the id; `undefined` when the time is over. */
async function createRepeatedly(
  { choices, isOpen, history }: RegistrarDeps,
  name: string,
  create: () => Promise<CreationAnswer>,
): Promise<string | undefined> {
  let first: CreationAnswer | undefined
  let answers = 0
  const observe = (value: CreationAnswer): void => {
    answers += 1
    // A restore has forgotten it.
    if (!history.created.has(name)) first = undefined
    first ??= value
    history.created.set(name, first.id)
    if (value.id !== first.id)
      history.problems.push(`${name}: its creation made ${first.id}, and ${value.id} after a repetition`)
    if (value.secret && first.secret && value.secret !== first.secret)
      history.problems.push(`${name}: a repetition of its creation has another secret`)
  }
  while (answers < ANSWERS_MAX && isOpen()) {
    const copies = choices.integer(1, 3)
    const results = await Promise.allSettled(Array.from({ length: copies }, () => create().then(observe)))
    for (const result of results)
      if (result.status === 'rejected' && isRefusal(result.reason))
        history.problems.push(`${name}: its creation was refused`)
    await sleep(choices.between(1, choices.pick([10, 300])))
  }
  return first?.id
}

/** Whether a creation was refused, which none is. All other errors leave open whether it happened. */
function isRefusal(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.InvalidArgument
}

/** The answers after which a creation is not repeated any more. */
const ANSWERS_MAX = 3
