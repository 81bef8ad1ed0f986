import { clock } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { HoldCommand } from '../domain/command.ts'
import { decideCommand } from '../domain/decide-command.ts'
import { nextPosition } from '../domain/hash-chain.ts'
import {
  addWithdrawal,
  refusalsByLimits,
  type WithdrawalTotals,
  withdrawalCount,
} from '../domain/payout-limits.ts'
import { shardOf } from '../domain/shard.ts'
import { createBatchDraft, type ShardState } from '../domain/shard-state.ts'
import type { LoadedShards } from '../shards/loaded-shards.ts'

/** How a hold would be decided now. `totals` are what its withdrawal would count into, without it. */
export interface HoldCheck {
  /** The codes of all rules that refuse the hold; the first is the code of the decision. */
  readonly refused_codes: readonly ErrorCode[]
  readonly available: bigint
  readonly totals: WithdrawalTotals | undefined
}

/** Decides a hold with an id that no entry has, and records nothing. Every entry acknowledged before the call counts. */
export async function checkHold(
  shards: LoadedShards,
  environment: Environment,
  command: HoldCommand,
): Promise<HoldCheck> {
  return await shards.use(shardOf(command.merchant_id, environment), ({ processor }) =>
    processor.read((state) => decideOnDraft(state, command)),
  )
}

function decideOnDraft(state: ShardState, command: HoldCommand): HoldCheck {
  const { merchant_id, currency, amount, limits } = command
  const position = nextPosition(state.shard, state.head(), clock.now_ms())
  const result = decideCommand(createBatchDraft(state, position), command, position)
  if (!('recorded' in result)) throw new TypeError(`the hold cannot be decided: ${result.not_recorded}`)
  const { refused_code } = result.recorded.entry
  const decided = refused_code === undefined ? [] : [refused_code]
  const { available, period } = state.accounts(merchant_id, currency)
  if (!limits) return { refused_codes: decided, available, totals: undefined }
  const before = state.withdrawalTotals(merchant_id, currency, limits.service_id)
  const count = withdrawalCount(limits, before, period, position.time)
  const by_limits = refusalsByLimits(limits, addWithdrawal(before, count, amount), amount)
  // An amount of 0 leaves the sums of the present day, month and period as they are, and begins new ones at 0.
  const totals = addWithdrawal(before, count, 0n)
  return { refused_codes: [...new Set([...decided, ...by_limits])], available, totals }
}
