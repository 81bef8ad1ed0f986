import type { ClientOf } from '#lib/rpc/rpc.ts'
import type { Choices } from '../simulation/parts/random.ts'
import { runCustomer } from '../simulation/workload/customer.ts'
import { runFileDesk } from '../simulation/workload/file-desk.ts'
import type { History } from '../simulation/workload/history.ts'
import type { SimulatedMerchant } from '../simulation/workload/merchants.ts'
import type { PublicApi } from '../simulation/workload/public-api.ts'
import { runRefundDesk } from '../simulation/workload/refund-desk.ts'
import { runSupportDesk } from '../simulation/workload/support-desk.ts'
import { runTreasurer } from '../simulation/workload/treasurer.ts'
import { runWithdrawals } from '../simulation/workload/withdrawals.ts'
import { type AcceptedActs, runOperatorActs } from './workload/operator-acts.ts'

/** The customers of each merchant. Each waits for a response before its next request. */
const CUSTOMERS = 4

/** What makes the load. */
export interface LoadDeps {
  readonly api: PublicApi
  readonly history: History
  readonly origins: readonly string[]
  readonly operator: ClientOf
  readonly payments: ClientOf
  readonly acts: AcceptedActs
  choicesOf(name: string): Choices
  readonly isOpen: () => boolean
}

/** Makes requests for all merchants until the load closes. Resolves when the last request has ended. */
export async function runLoad(deps: LoadDeps, merchants: readonly SimulatedMerchant[]): Promise<void> {
  const { choicesOf } = deps
  const customers = merchants.flatMap((merchant, index) =>
    Array.from({ length: CUSTOMERS }, (_, number) =>
      runCustomer({ ...deps, choices: choicesOf(`customer ${index} ${number}`) }, merchant, number),
    ),
  )
  const treasurers = merchants.map((merchant, index) =>
    runTreasurer({ ...deps, choices: choicesOf(`treasurer ${index}`) }, merchant),
  )
  const desks = merchants.flatMap((merchant, index) => {
    const depsOf = (name: string) => ({ ...deps, choices: choicesOf(`${name} ${index}`) })
    return [
      runWithdrawals(depsOf('withdrawals'), merchant, 0),
      runRefundDesk(depsOf('refunds'), merchant),
      runSupportDesk(depsOf('support'), merchant),
      runFileDesk(depsOf('files'), merchant),
      runOperatorActs(depsOf('backoffice'), merchant),
    ]
  })
  await Promise.all([...customers, ...treasurers, ...desks])
}
