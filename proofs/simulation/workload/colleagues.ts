import type { Client } from '@connectrpc/connect'
import { ApprovalStatus } from '#gen/multihub/backoffice/v1/approval_pb.ts'
import { ApprovalService } from '#gen/multihub/backoffice/v1/approval_service_pb.ts'
import { AuditService } from '#gen/multihub/backoffice/v1/audit_service_pb.ts'
import { PrincipalKind } from '#gen/multihub/backoffice/v1/principal_pb.ts'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { sleep } from '#lib/base/time.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import type { Choices } from '../parts/random.ts'
import { FIRST_TOKEN, type World } from '../world/world.ts'
import type { SimulatedMerchant } from './merchants.ts'

/** The principals of the operator, each as clients of the back office with its token. */
export interface Colleagues {
  /** Two persons, each of whom may be the second person of the other one. */
  readonly people: readonly ClientOf[]
  /** The people and a program, all of whom may propose. */
  readonly all: readonly ClientOf[]
}

/** The currency whose adjustments above a limit need a second person from before the load to its end. */
export const HELD_CURRENCY = 'NZD'
/** What one person may move alone in that currency. */
export const HELD_ABOVE = 1_000n
/** The currency of most refunds and anomalies: a second person must agree to some of them. */
const PAID_CURRENCY = 'INR'
/** The currency whose policy comes and goes. */
export const FREE_CURRENCY = 'SEK'

const ADJUST = 'multihub.balances.v1.BalanceService/Adjust'
const APPROVE_REFUND = 'multihub.support.v1.RefundService/ApproveRefund'
const RESOLVE_ANOMALY = 'multihub.payments.v1.PaymentService/ResolveAnomaly'

const RIGHTS = ['support', 'money', 'admin']

/** The share of seeds with a back office in which refunds need a second person from the beginning. */
const HELD_REFUNDS = 0.5

/** Makes the principals with the first token, and the policies that are there before the load. Nothing fails yet. */
export async function createColleagues({
  operatorWith,
  choicesOf,
}: Pick<World, 'operatorWith' | 'choicesOf'>): Promise<Colleagues> {
  const first = operatorWith(FIRST_TOKEN)(PrincipalService)
  const create = async (client: Client<typeof PrincipalService>, name: string, kind: PrincipalKind) => {
    const { token } = await client.createPrincipal({ name, kind, rights: RIGHTS, operationId: name })
    return operatorWith(token)
  }
  // The first token counts until there is an administrator.
  const ann = await create(first, 'ann', PrincipalKind.PERSON)
  const others = ann(PrincipalService)
  const bob = await create(others, 'bob', PrincipalKind.PERSON)
  const program = await create(others, 'program', PrincipalKind.PROGRAM)
  const policy = { rpc: ADJUST, currency: HELD_CURRENCY, aboveMinor: HELD_ABOVE }
  await ann(ApprovalService).setApprovalPolicy(policy)
  if (choicesOf('held refunds').chance(HELD_REFUNDS))
    await ann(ApprovalService).setApprovalPolicy({
      rpc: APPROVE_REFUND,
      currency: PAID_CURRENCY,
      aboveMinor: 0n,
    })
  return { people: [ann, bob], all: [ann, bob, program] }
}

/** The back office finds its own audit trail whole. */
export async function* auditVerifies({ people: [person] }: Colleagues): AsyncIterable<string> {
  const { consistent, problems } = (await person?.(AuditService).verifyAudit({})) ?? {}
  if (consistent !== true) yield `the verification of the audit trail found ${problems?.join('; ')}`
}

/** One client for all operator's RPCs: each call is made by one of the principals. */
export function asOneOf({ all }: Colleagues, choices: Choices): ClientOf {
  return (service) => choices.pick(all)(service)
}

interface ColleagueDeps {
  readonly colleagues: Colleagues
  readonly choices: Choices
  /** Whether acts may still begin. */
  readonly isOpen: () => boolean
}

/** The operations are few, so that they are repeated, also by others and while they wait. */
const OPERATIONS_MAX = 40
const PAUSE_MAX_MS = 400

/**
 * Adjusts balances through the back office, and decides about what waits for a second person: two people at once, also about what
 * they proposed themselves. Policies come and go meanwhile. A refusal or a lost answer proves nothing.
 */
export async function runColleagues(
  deps: ColleagueDeps,
  merchants: readonly SimulatedMerchant[],
): Promise<void> {
  const { choices, isOpen } = deps
  while (isOpen()) {
    await choices
      .weighted<() => Promise<unknown>>([
        [6, () => adjust(deps, merchants)],
        [4, () => decide(deps)],
        [1, () => changePolicy(deps)],
      ])()
      .catch(() => {})
    await sleep(choices.between(0, choices.pick([20, 100, PAUSE_MAX_MS])))
  }
}

/** Everything of an operation follows from its number, so that a repetition is the same request. */
async function adjust(
  { colleagues, choices }: ColleagueDeps,
  merchants: readonly SimulatedMerchant[],
): Promise<void> {
  const number = choices.integer(1, OPERATIONS_MAX)
  const merchant = merchants[number % merchants.length]
  if (merchant === undefined) return
  const currency = number % 3 === 0 ? FREE_CURRENCY : HELD_CURRENCY
  const minor = number % 5 === 0 ? HELD_ABOVE - BigInt(number) : HELD_ABOVE + BigInt(number)
  const send = () =>
    choices
      .pick(colleagues.all)(BalanceService)
      .adjust({
        merchantId: merchant.merchant_id,
        environment: merchant.environment,
        currency,
        amount: { minor, currency },
        reason: 'simulated',
        operationId: `colleagues-${number}`,
      })
  await Promise.allSettled(choices.chance(0.2) ? [send(), send()] : [send()])
}

/** Two people at once about one approval: both approve, one rejects, or only one decides. */
const DECISIONS = [
  [4, ['approve', 'approve']],
  [1, ['approve', 'reject']],
  [1, ['reject', 'reject']],
  [2, ['approve']],
] as const

async function decide({ colleagues, choices }: ColleagueDeps): Promise<void> {
  const { people } = colleagues
  const status = choices.chance(0.9) ? ApprovalStatus.PENDING : ApprovalStatus.UNSPECIFIED
  const { approvals } = await choices.pick(people)(ApprovalService).listApprovals({ status, pageSize: 20 })
  if (approvals.length === 0) return
  // Adjustments are many, and refunds and anomalies few.
  const others = approvals.filter(({ rpc }) => rpc !== ADJUST)
  const { approvalId } = choices.pick(others.length > 0 && choices.chance(0.8) ? others : approvals)
  const decisions = choices.weighted<readonly ('approve' | 'reject')[]>(DECISIONS)
  const start = choices.integer(0, 1)
  await Promise.allSettled(
    decisions.map((decision, index) =>
      (people[(start + index) % people.length] as ClientOf)(ApprovalService)[decision]({
        approvalId,
        reason: 'simulated',
      }),
    ),
  )
}

/** Makes a policy, makes it stricter, or proposes to loosen or remove it. The held currency keeps its policy. */
async function changePolicy({ colleagues, choices }: ColleagueDeps): Promise<void> {
  const [rpc, currency] = choices.pick([
    [ADJUST, FREE_CURRENCY],
    [ADJUST, FREE_CURRENCY],
    [APPROVE_REFUND, PAID_CURRENCY],
    [RESOLVE_ANOMALY, PAID_CURRENCY],
  ] as const)
  const set = (aboveMinor: bigint | undefined) =>
    choices
      .pick(colleagues.all)(ApprovalService)
      .setApprovalPolicy({ rpc, currency, ...(aboveMinor === undefined ? {} : { aboveMinor }) })
  // Two at once, of which one may loosen what the other has not written yet.
  const amounts = choices.chance(0.5)
    ? [choices.pick([undefined, undefined, 0n, HELD_ABOVE])]
    : [HELD_ABOVE, 0n]
  await Promise.allSettled(amounts.map(set))
}
