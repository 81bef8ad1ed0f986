import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { type ReactNode, useState } from 'react'
import type { Balance } from '#gen/multihub/balances/v1/balance_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import type { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { amountText } from '#lib/contract/shown-values.ts'
import { nowMs } from '../call/machine.ts'
import { useRpc, useRpcs } from '../call/use-rpc.ts'
import { LineChart, type Point } from '../parts/line-chart.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'

const DAYS = 30
const DAY_MS = 24 * 3_600_000

/** The balances of a merchant now, and what was available in the last 30 days, read once a day so that it costs the same for every merchant. */
export function BalanceCharts({
  merchant_id,
  environment,
  currency,
}: {
  readonly merchant_id: string
  readonly environment: Environment
  /** Empty for all currencies. */
  readonly currency: string
}): ReactNode {
  // The days are counted from when the page was opened, so that they are read once.
  const [opened_ms] = useState(nowMs)
  const account = { merchantId: merchant_id, environment }
  const { data: present, error } = useRpc(BalanceService.method.getBalances, account)
  const times_ms = Array.from({ length: DAYS }, (_, place) => opened_ms - (DAYS - place) * DAY_MS)
  const past = useRpcs(
    BalanceService.method.getBalances,
    times_ms.map((at_ms) => ({ ...account, at: timestampFromMs(at_ms) })),
    { is_permanent: true },
  )
  if (present === undefined) return error && <ProblemNote error={error} />
  const shown = present.balances.filter((balance) => currency === '' || balance.currency === currency)
  return (
    <section className="scroll">
      <table>
        <caption>Now, and in the last {DAYS} days</caption>
        <thead>
          <tr>
            {['Available', 'Held', `${DAYS} days ago`].map((head) => (
              <th key={head} scope="col" className="number">
                {head}
              </th>
            ))}
            <th scope="col">Available, day by day</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((balance) => {
            const points = times_ms.flatMap((at_ms, place): readonly Point[] => {
              const then = past[place]?.balances.find((one) => one.currency === balance.currency)
              return past[place] === undefined ? [] : [{ at_ms, value: Number(then?.available ?? 0n) }]
            })
            const now = { at_ms: opened_ms, value: Number(balance.available) }
            return <OneCurrency key={balance.currency} balance={balance} points={[...points, now]} />
          })}
        </tbody>
      </table>
    </section>
  )
}

function OneCurrency({
  balance: { currency, available, held },
  points,
}: {
  readonly balance: Balance
  readonly points: readonly Point[]
}): ReactNode {
  const text = (minor: bigint): string => amountText(minor, currency, { is_minor: false })
  const values = points.map(({ value }) => BigInt(value))
  const is_complete = points.length > DAYS
  const [lowest = 0n, ...others] = values.toSorted((a, b) => Number(a - b))
  const highest = others.at(-1) ?? lowest
  return (
    <tr>
      <td className={available < 0n ? 'number bad' : 'number'}>
        <strong>{text(available)}</strong>
      </td>
      <td className={held === 0n ? 'number quiet' : 'number'}>{text(held)}</td>
      <td className="number">{is_complete ? text(values[0] ?? 0n) : '…'}</td>
      <td className="wide-cell">
        {is_complete && (
          <LineChart
            label={`${currency}, available in the last ${DAYS} days: between ${text(lowest)} and ${text(highest)}`}
            points={points}
          />
        )}
      </td>
    </tr>
  )
}
