import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type { ReactNode } from 'react'
import type { GetOverviewResponse } from '#gen/multihub/backoffice/v1/overview_service_pb.ts'
import { Direction, type Route } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { AccountState, CircuitState } from '#gen/multihub/payments/v1/provider_account_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { listAddress } from '../../values/addresses.ts'
import { fillSlots } from '../../values/slots.ts'
import { isWorse, providersOf, routesOf, type Success, shareText, successOf } from '../../values/success.ts'
import { wordsOf } from '../../values/times.ts'
import { useRpc, useRpcs } from '../call/use-rpc.ts'
import { type Bar, BarChart } from '../parts/bar-chart.tsx'
import { useZone } from '../parts/preferences.ts'
import { Id, PageLink, Text } from '../parts/text.tsx'

/** The routes whose names are read: the busiest. Those below are counted with the others. */
const ROUTES_MAX = 20
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** How payments go: over time, by route and by provider. */
export function PaymentRates({ overview }: { readonly overview: GetOverviewResponse }): ReactNode {
  const { paymentsLastHour, paymentsLastDay, computedTime } = overview
  const rates = routesOf(paymentsLastHour, paymentsLastDay)
  const shown = rates.slice(0, ROUTES_MAX)
  const answers = useRpcs(
    RouteService.method.getRoute,
    shown.map(({ service_id }) => ({ serviceId: service_id })),
  )
  const routes = new Map(
    answers.flatMap((answer) => (answer?.route ? [[answer.route.serviceId, answer.route] as const] : [])),
  )
  const now_ms = computedTime === undefined ? 0 : timestampMs(computedTime)
  const all = { hour: successOf(paymentsLastHour), day: successOf(paymentsLastDay) }
  return (
    <>
      <div className="columns">
        <Chart
          title="Last 60 minutes"
          success={all.hour}
          slots={fillSlots(overview.slotsLastHour, { step_ms: MINUTE_MS, count: 60, now_ms })}
        />
        <Chart
          title="Last 24 hours"
          success={all.day}
          slots={fillSlots(overview.slotsLastDay, { step_ms: HOUR_MS, count: 25, now_ms })}
        />
      </div>
      <Rates
        title={`By route${rates.length > shown.length ? `, the busiest ${shown.length} of ${rates.length}` : ''}`}
        heads={['Route', 'What', 'Provider']}
        rows={[
          {
            key: 'all',
            cells: [
              <PageLink key="all" to={{ path: '/payments' }}>
                all routes
              </PageLink>,
              null,
              null,
            ],
            ...all,
          },
          ...shown.map(({ service_id, ...rate }) => ({
            key: service_id,
            cells: cellsOf(service_id, routes.get(service_id)),
            ...rate,
          })),
        ]}
      />
      <Providers rates={providersOf(shown, (service_id) => routes.get(service_id)?.connector)} />
    </>
  )
}

function cellsOf(service_id: string, route: Route | undefined): readonly ReactNode[] {
  const address = listAddress('payments', `route:${service_id}`)
  const name = service_id === '0' ? 'others' : service_id
  return [
    address === undefined || service_id === '0' ? (
      name
    ) : (
      <PageLink key="route" to={address}>
        {name}
      </PageLink>
    ),
    route && (
      <span key="what">
        {route.direction === Direction.OUT ? 'payout' : 'deposit'}{' '}
        <Text>{`${route.method} ${route.currency}`}</Text> of <Id kind="merchant">{route.merchantId}</Id>
      </span>
    ),
    route && <Text key="provider">{route.connector}</Text>,
  ]
}

function Chart({
  title,
  success,
  slots,
}: {
  readonly title: string
  readonly success: Success
  readonly slots: ReturnType<typeof fillSlots>
}): ReactNode {
  const zone = useZone()
  const clock = (at_ms: number): string => wordsOf(timestampFromMs(at_ms), zone).time.slice(0, 5)
  const bars = slots.map(({ start_ms, created, succeeded, failed }): Bar => {
    const words = `${clock(start_ms)}: ${created} created, ${succeeded} success, ${failed} failed`
    const parts = [
      { tone: 'good', value: succeeded },
      { tone: 'bad', value: failed },
    ] as const
    return { key: `${start_ms}`, words, parts }
  })
  const { created, ended } = success
  const sentence = `${created} created, ${ended} ended, success ${shareText(success)}`
  return (
    <section>
      <h2>{title}</h2>
      <p>
        {created.toLocaleString('en')} created, {ended.toLocaleString('en')} ended,{' '}
        <strong>success {shareText(success)}</strong>
      </p>
      <BarChart label={`${title}: ${sentence}`} bars={bars} from={clock(slots[0]?.start_ms ?? 0)} to="now" />
      <details>
        <summary className="quiet">The numbers</summary>
        <div className="scroll">
          <table>
            <thead>
              <tr>
                {['From', 'Created', 'Success', 'Failed'].map((head, column) => (
                  <th key={head} scope="col" className={column > 0 ? 'number' : ''}>
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {slots
                .filter((slot) => slot.created + slot.succeeded + slot.failed > 0)
                .map((slot) => (
                  <tr key={slot.start_ms}>
                    <th scope="row">{clock(slot.start_ms)}</th>
                    <td className="number">{slot.created}</td>
                    <td className="number">{slot.succeeded}</td>
                    <td className="number">{slot.failed}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      </details>
    </section>
  )
}

interface Rate {
  readonly key: string
  readonly cells: readonly ReactNode[]
  readonly hour: Success
  readonly day: Success
}

function Rates({
  title,
  heads,
  rows,
}: {
  readonly title: string
  readonly heads: readonly string[]
  readonly rows: readonly Rate[]
}): ReactNode {
  return (
    <section className="scroll">
      <table>
        <caption>{title}</caption>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col" rowSpan={2}>
                {head}
              </th>
            ))}
            {['Last 60 minutes', 'Last 24 hours'].map((time) => (
              <th key={time} scope="colgroup" colSpan={3} className="number group">
                {time}
              </th>
            ))}
          </tr>
          <tr>
            {['hour', 'day'].flatMap((time) =>
              ['created', 'ended', 'success'].map((what) => (
                <th key={`${time} ${what}`} scope="col" className="number">
                  {what}
                </th>
              )),
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells, hour, day }) => (
            <tr key={key}>
              {cells.map((cell, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its column
                <td key={column}>{cell}</td>
              ))}
              <td className="number">{hour.created.toLocaleString('en')}</td>
              <td className="number">{hour.ended.toLocaleString('en')}</td>
              <td className="number">
                {isWorse(hour, day) ? <strong className="bad">▼ {shareText(hour)}</strong> : shareText(hour)}
              </td>
              <td className="number">{day.created.toLocaleString('en')}</td>
              <td className="number">{day.ended.toLocaleString('en')}</td>
              <td className="number">{shareText(day)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** How often the states of provider accounts are read again. */
const ACCOUNTS_MS = 10_000

function Providers({ rates }: { readonly rates: ReturnType<typeof providersOf> }): ReactNode {
  const { data } = useRpc(ProviderAccountService.method.listProviderAccounts, {}, { every_ms: ACCOUNTS_MS })
  const accountsOf = (provider: string): ReactNode => {
    const own = data?.accounts.filter(({ connector }) => connector === provider) ?? []
    const open = own.filter(({ circuitState }) => circuitState !== CircuitState.CLOSED).length
    const off = own.filter(({ state }) => state !== AccountState.ENABLED).length
    return (
      <>
        <PageLink to={{ path: '/providers' }}>{own.length}</PageLink>
        {open > 0 && <span className="bad"> ✕ {open} with an open breaker</span>}
        {off > 0 && <span className="waiting"> ▲ {off} not enabled</span>}
      </>
    )
  }
  return (
    <Rates
      title="By provider"
      heads={['Provider', 'Accounts']}
      rows={rates.map(({ provider, ...rate }) => ({
        key: provider,
        cells: [<Text key="name">{provider}</Text>, data && accountsOf(provider)],
        ...rate,
      }))}
    />
  )
}
