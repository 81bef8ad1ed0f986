import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import { entriesOf, ownerOf } from '../../simulation/invariants/ledger.ts'
import type { SimulatedCredential } from '../../simulation/workload/merchants.ts'
import type { PublicApi } from '../../simulation/workload/public-api.ts'
import type { AcceptedActs } from '../workload/operator-acts.ts'
import { retry } from './calls.ts'
import { enumName } from './enum-name.ts'
import { evidenceOf, type Facts } from './evidence.ts'

/** The currency of the ledger commands, whose holds stay open when nothing has ended them. */
export const COMMANDS_CURRENCY = 'AUD'

/** The states of a refund whose money is still on its way. */
const OPEN: readonly RefundStatus[] = [RefundStatus.APPROVED]

/** No refund is on its way, each was paid once if it is completed and never if it is not, and no funds are held any more. */
export function* refundsHaveEnded(facts: Facts): Iterable<string> {
  const entries = entriesOf(evidenceOf(facts))
  const entries_of = Map.groupBy(entries, ownerOf)
  for (const { refundId, paymentId, status, amount } of facts.refunds) {
    const name = `the refund ${refundId} of ${paymentId}`
    if (OPEN.includes(status)) yield `${name} has not ended`
    const operations = facts.operations.filter(
      ({ idempotency_key }) => idempotency_key === `${paymentId}:refund:${refundId}`,
    )
    const paid = operations.filter((operation) => operation.status === 'success')
    const is_completed = status === RefundStatus.COMPLETED
    if (paid.length !== (is_completed ? 1 : 0))
      yield `${name} is ${enumName(RefundStatus, status)}, and was paid ${paid.length} times`
    for (const operation of paid)
      if (BigInt(operation.amount) !== amount?.minor) yield `${name} was paid with ${operation.amount}`
    const captures = (entries_of.get(refundId) ?? []).filter(({ kind }) => kind === 'capture')
    if (captures.length !== (is_completed ? 1 : 0))
      yield `${name} is ${enumName(RefundStatus, status)}, and was taken ${captures.length} times`
  }
  for (const [account, of_account] of Map.groupBy(
    entries.filter(({ currency }) => currency !== '' && currency !== COMMANDS_CURRENCY),
    ({ merchant_id, currency }) => `${merchant_id} ${currency}`,
  )) {
    const held = of_account.at(-1)?.held ?? 0n
    if (held !== 0n) yield `${held} of ${account} are still held`
  }
}

/** Each file that was finalized is ready or rejected. */
export async function filesHaveEnded(
  api: PublicApi,
  { history, merchants }: Pick<Facts, 'history' | 'merchants'>,
): Promise<readonly string[]> {
  const problems: string[] = []
  for (const { merchant_id, h_id, number, is_finalized = false } of history.files.values()) {
    const credential = merchants.find((one) => one.merchant_id === merchant_id)?.credentials[0]
    if (!is_finalized || h_id === undefined || credential === undefined) continue
    const status = await statusOf(api, credential, h_id)
    if (status !== 'ready' && status !== 'rejected')
      problems.push(`the file ${number} of ${merchant_id} is ${status}`)
  }
  return problems
}

function statusOf(api: PublicApi, credential: SimulatedCredential, h_id: string): Promise<string> {
  return retry(async () => {
    const outcome = await api.call(credential, {
      method: 'attachment.status',
      params: { attachment: { h_id } },
    })
    if (outcome.kind !== 'success') throw new Error(`the status of a file: ${JSON.stringify(outcome)}`)
    return String(outcome.result['status'])
  })
}

/** What the operator was answered to be done is done. */
export async function actsAreVisible(
  operator: ClientOf,
  { entries, merchants }: Facts,
  { entry_ids, minimum_amounts }: AcceptedActs,
): Promise<readonly string[]> {
  const stored = new Set(entries.map(({ entryId }) => entryId))
  const problems = [...entry_ids]
    .filter((id) => !stored.has(id))
    .map((id) => `the correction ${id} is missing`)
  for (const { merchant_id: merchantId } of merchants) {
    const { routes } = await retry(() => operator(RouteService).listRoutes({ merchantId }))
    for (const { serviceId, minimumAmount } of routes) {
      const possible = minimum_amounts.get(serviceId)
      if (possible !== undefined && !possible.includes(minimumAmount))
        problems.push(`the route ${serviceId} has the minimum ${minimumAmount}, accepted was ${possible}`)
    }
  }
  return problems
}
