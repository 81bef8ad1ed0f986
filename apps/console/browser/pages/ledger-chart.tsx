import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { type ReactNode, useState } from 'react'
import type { Balance } from '#gen/multihub/balances/v1/balance_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import type { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { amountText } from '#lib/contract/shown-values.ts'
import { nowMs } from '../call/machine.ts'
import { useRpc, useRpcs } from '../call/use-rpc.ts'
import { LineChart } from '../parts/line-chart.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'

const DAYS = 30
const DAY_MS = 24 * 3_600_000

/** What was available at a time. */
interface DayAmount {
  readonly at_ms: number
  readonly minor: bigint
}

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
            const days = times_ms.flatMap((at_ms, place): readonly DayAmount[] => {
              const then = past[place]?.balances.find((one) => one.currency === balance.currency)
              return past[place] === undefined ? [] : [{ at_ms, minor: then?.available ?? 0n }]
            })
            const now = { at_ms: opened_ms, minor: balance.available }
            return <OneCurrency key={balance.currency} balance={balance} days={[...days, now]} />
          })}
        </tbody>
      </table>
    </section>
  )
}

function OneCurrency({
  balance: { currency, available, held },
  days,
}: {
  readonly balance: Balance
  readonly days: readonly DayAmount[]
}): ReactNode {
  const text = (minor: bigint): string => amountText(minor, currency, { is_minor: false })
  const is_complete = days.length > DAYS
  const [first = { minor: 0n }] = days
  const { lowest, highest } = days.reduce(
    (range, { minor }) => ({
      lowest: minor < range.lowest ? minor : range.lowest,
      highest: minor > range.highest ? minor : range.highest,
    }),
    { lowest: first.minor, highest: first.minor },
  )
  return (
    <tr>
      <td className={available < 0n ? 'number bad' : 'number'}>
        <strong>{text(available)}</strong>
      </td>
      <td className={held === 0n ? 'number quiet' : 'number'}>{text(held)}</td>
      <td className="number">{is_complete ? text(first.minor) : '…'}</td>
      <td className="wide-cell">
        {is_complete && (
          <LineChart
            label={`${currency}, available in the last ${DAYS} days: between ${text(lowest)} and ${text(highest)}`}
            // A line needs no more digits than a number has; the texts are exact.
            points={days.map(({ at_ms, minor }) => ({ at_ms, value: Number(minor) }))}
          />
        )}
      </td>
    </tr>
  )
}
