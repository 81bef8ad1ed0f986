import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { ReactNode } from 'react'
import {
  type GetOverviewResponse,
  type LedgerOverview,
  OverviewService,
} from '#gen/multihub/backoffice/v1/overview_service_pb.ts'
import type { OpenItems } from '#gen/multihub/common/v1/open_items_pb.ts'
import { spanText } from '#lib/contract/shown-values.ts'
import { listAddress } from '../../values/addresses.ts'
import { isWorse, routesOf, type Success, shareText, successOf } from '../../values/success.ts'
import { useRpc } from '../call/use-rpc.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { PageLink } from '../parts/text.tsx'
import { useTitle } from '../parts/title.ts'
import { State, Time } from '../parts/values.tsx'

/** A number above this is not exact (O18). */
const COUNT_MAX = 1_000

type Item = readonly [keyof GetOverviewResponse & `${string}`, label: string, page: string, filters?: string]

const FOR_PERSONS: readonly Item[] = [
  ['pendingRefunds', 'refunds to approve', 'refunds', 'status:pending'],
  ['chargebacksByDeadline', 'chargebacks with a deadline', 'chargebacks', 'status:open,under_review'],
  [
    'unresolvedTickets',
    'tickets without an end',
    'tickets',
    'status:open,in_progress,waiting_customer,on_hold',
  ],
  ['pendingApprovals', 'calls for a second person', 'approvals', 'status:pending'],
  ['openAnomalies', 'anomalies to decide', 'anomalies', 'open:yes'],
]
const FOR_MACHINES: readonly Item[] = [
  ['openBreakers', 'open circuit breakers', 'destinations'],
  ['heldDeliveries', 'callbacks that wait for a receiver', 'deliveries', 'trouble:held'],
  ['deadDeliveries', 'dead callbacks', 'deliveries', 'status:dead'],
  ['stuckEffects', 'stuck effects', 'stuck'],
]

/** The first page of a day: how payments go, and what waits for whom. */
export function OverviewPage(): ReactNode {
  useTitle('Overview')
  const { data, error } = useRpc(OverviewService.method.getOverview, {})
  if (data === undefined) return error && <ProblemNote error={error} />
  const { ledger, unavailable, computedTime } = data
  return (
    <>
      <h1>Overview</h1>
      {error !== null && <ProblemNote error={error} />}
      {unavailable.length > 0 && (
        <p className="note waiting">{unavailable.join(', ')} did not answer: these numbers are missing.</p>
      )}
      <Payments overview={data} />
      <div className="columns">
        <Waiting title="Waits for a person" items={FOR_PERSONS} overview={data} />
        <Waiting title="Waits for a machine" items={FOR_MACHINES} overview={data} />
      </div>
      <section aria-label="Ledger">
        <h2>Ledger</h2>
        {ledger !== undefined && <Ledger ledger={ledger} />}
      </section>
      <p className="quiet">
        As of <Time>{computedTime}</Time>, read again every 2 s while this page is visible.
      </p>
    </>
  )
}

function Payments({ overview }: { readonly overview: GetOverviewResponse }): ReactNode {
  const { paymentsLastHour, paymentsLastDay } = overview
  const routes = routesOf(paymentsLastHour, paymentsLastDay)
  if (routes.length === 0) return <FirstSteps />
  const all = { hour: successOf(paymentsLastHour), day: successOf(paymentsLastDay) }
  return (
    <section className="scroll">
      <table>
        <caption>Payments</caption>
        <thead>
          <tr>
            <th scope="col">Route</th>
            <th scope="col" className="number">
              60 min: created
            </th>
            <th scope="col" className="number">
              ended
            </th>
            <th scope="col" className="number">
              success
            </th>
            <th scope="col" className="number">
              24 h: created
            </th>
            <th scope="col" className="number">
              ended
            </th>
            <th scope="col" className="number">
              success
            </th>
          </tr>
        </thead>
        <tbody>
          <RouteRow label="all routes" {...all} />
          {routes.map(({ service_id, hour, day }) => (
            <RouteRow key={service_id} label={service_id} route={service_id} hour={hour} day={day} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

function RouteRow({
  label,
  route,
  hour,
  day,
}: {
  readonly label: string
  readonly route?: string
  readonly hour: Success
  readonly day: Success
}): ReactNode {
  const address = listAddress('payments', route === undefined ? undefined : `route:${route}`)
  return (
    <tr>
      <th scope="row">{address === undefined ? label : <PageLink to={address}>{label}</PageLink>}</th>
      <td className="number">{hour.created}</td>
      <td className="number">{hour.ended}</td>
      <td className="number">
        {isWorse(hour, day) ? <strong className="bad">▼ {shareText(hour)}</strong> : shareText(hour)}
      </td>
      <td className="number">{day.created}</td>
      <td className="number">{day.ended}</td>
      <td className="number">{shareText(day)}</td>
    </tr>
  )
}

function Waiting({
  title,
  items,
  overview,
}: {
  readonly title: string
  readonly items: readonly Item[]
  readonly overview: GetOverviewResponse
}): ReactNode {
  return (
    <section className="scroll">
      <table>
        <caption>{title}</caption>
        <tbody>
          {items.map(([field, label, page, filters]) => {
            const open_items = overview[field] as OpenItems | undefined
            const address = listAddress(page, filters)
            return (
              <tr key={field}>
                <td className="number">{open_items === undefined ? '–' : countText(open_items.count)}</td>
                <th scope="row" className={open_items?.count === 0 ? 'quiet' : undefined}>
                  {address === undefined ? label : <PageLink to={address}>{label}</PageLink>}
                </th>
                <td>{open_items?.oldestTime && waitText(open_items.oldestTime, overview.computedTime)}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </section>
  )
}

function countText(count: number): string {
  return count >= COUNT_MAX ? `${count} or more` : String(count)
}

function waitText(time: Timestamp, computed: Timestamp | undefined): string {
  const age_ms = (computed === undefined ? 0 : timestampMs(computed)) - timestampMs(time)
  return age_ms < 0 ? `next in ${spanText(-age_ms)}` : `oldest ${spanText(age_ms)}`
}

function Ledger({ ledger: { consistent, verifiedTime } }: { readonly ledger: LedgerOverview }): ReactNode {
  if (verifiedTime === undefined) return <p>Not verified yet.</p>
  return (
    <p>
      <State word={consistent ? 'consistent' : 'inconsistent'} />, verified up to <Time>{verifiedTime}</Time>
    </p>
  )
}

/** What an empty system needs: not an empty table. */
function FirstSteps(): ReactNode {
  return (
    <section>
      <h2>No payments in the last 24 hours</h2>
      <ol>
        <li>
          Make a first deposit: the curl command of the README, or{' '}
          <code>./multihub trigger payment.completed</code>.
        </li>
        <li>
          Receive its callbacks: <code>./multihub listen --forward-to http://127.0.0.1:3000/hook</code>.
        </li>
        <li>Search for its c_id above: its timeline appears as it happens.</li>
      </ol>
    </section>
  )
}
