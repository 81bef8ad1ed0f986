import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { ReactNode } from 'react'
import {
  OperationKind,
  OperationOutcome,
  type OperationOverview,
} from '#gen/multihub/backoffice/v1/operation_pb.ts'
import {
  type GetOverviewResponse,
  type LedgerOverview,
  OverviewService,
} from '#gen/multihub/backoffice/v1/overview_service_pb.ts'
import type { OpenItems } from '#gen/multihub/common/v1/open_items_pb.ts'
import { spanText } from '#lib/contract/shown-values.ts'
import { type Address, listAddress } from '../../values/addresses.ts'
import { countText, FOR_MACHINES, FOR_PERSONS, type OpenItem } from '../../values/open-items.ts'
import { useRpc } from '../call/use-rpc.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { PageLink } from '../parts/text.tsx'
import { useTitle } from '../parts/title.ts'
import { State, Time } from '../parts/values.tsx'
import { PaymentRates } from './overview-payments.tsx'

/** The first page of a day: how payments go, and what waits for whom. */
export function OverviewPage(): ReactNode {
  useTitle('Overview')
  const { data, error } = useRpc(OverviewService.method.getOverview, {})
  if (data === undefined)
    return (
      <>
        <h1>Overview</h1>
        {error === null ? <p className="quiet">Reading…</p> : <ProblemNote error={error} />}
      </>
    )
  const { ledger, operations, unavailable, computedTime } = data
  return (
    <>
      <h1>Overview</h1>
      {error !== null && <ProblemNote error={error} />}
      {unavailable.length > 0 && (
        <p className="note waiting">{unavailable.join(', ')} did not answer: these numbers are missing.</p>
      )}
      <div className="columns">
        <Waiting title="Waits for a person" items={FOR_PERSONS} overview={data} />
        <Waiting title="Waits for a machine" items={FOR_MACHINES} overview={data} />
        <section aria-label="Ledger and backups">
          <h2>Ledger and backups</h2>
          {ledger === undefined ? <p>Not known: balances did not answer.</p> : <Ledger ledger={ledger} />}
          {operations.map((operation) => (
            <LastOperation key={operation.kind} operation={operation} computed={computedTime} />
          ))}
        </section>
      </div>
      <Payments overview={data} />
      <p className="quiet">
        As of <Time>{computedTime}</Time>, read again every 2 s while this page is visible.
      </p>
    </>
  )
}

function Waiting({
  title,
  items,
  overview,
}: {
  readonly title: string
  readonly items: readonly OpenItem[]
  readonly overview: GetOverviewResponse
}): ReactNode {
  return (
    <section className="scroll">
      <table>
        <caption>{title}</caption>
        <tbody>
          {items.map(({ field, label, page, filters, also }) => {
            const open_items = overview[field] as OpenItems | undefined
            return (
              <tr key={field} className={open_items?.count === 0 ? 'none' : undefined}>
                <td className="number count">
                  {open_items === undefined ? '–' : countText(open_items.count)}
                </td>
                <th scope="row">
                  <ListLink label={label} address={listAddress(page, filters)} />
                  {also && (
                    <>
                      {' '}
                      <ListLink label={also.label} address={listAddress(also.page)} />
                    </>
                  )}
                </th>
                <td className="number">
                  {open_items?.oldestTime && waitText(open_items.oldestTime, overview.computedTime)}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </section>
  )
}

function ListLink({
  label,
  address,
}: {
  readonly label: string
  readonly address: Address | undefined
}): ReactNode {
  return address === undefined ? label : <PageLink to={address}>{label}</PageLink>
}

function waitText(time: Timestamp, computed: Timestamp | undefined): string {
  const age_ms = (computed === undefined ? 0 : timestampMs(computed)) - timestampMs(time)
  return age_ms < 0 ? `next in ${spanText(-age_ms)}` : `oldest ${spanText(age_ms)}`
}

function Ledger({ ledger: { consistent, verifiedTime } }: { readonly ledger: LedgerOverview }): ReactNode {
  if (verifiedTime === undefined)
    return (
      <p>
        Not verified yet. <PageLink to={{ path: '/verification' }}>Verify it.</PageLink>
      </p>
    )
  return (
    <p>
      <State word={consistent ? 'consistent' : 'inconsistent'} />, verified up to <Time>{verifiedTime}</Time>
    </p>
  )
}

/** How old the newest success of a command on the databases is. */
function LastOperation({
  operation: { kind, successTime, lastOutcome },
  computed,
}: {
  readonly operation: OperationOverview
  readonly computed: Timestamp | undefined
}): ReactNode {
  const name = kind === OperationKind.BACKUP ? 'Backup' : 'Verification of the databases'
  const note = lastOutcome === OperationOutcome.FAILED ? 'failed' : 'unfinished'
  const is_unclear = lastOutcome === OperationOutcome.FAILED || lastOutcome === OperationOutcome.UNFINISHED
  return (
    <p>
      {name}:{' '}
      {successTime === undefined ? (
        <strong>never succeeded</strong>
      ) : (
        `succeeded ${spanText((computed === undefined ? 0 : timestampMs(computed)) - timestampMs(successTime))} ago`
      )}
      {is_unclear && (
        <>
          , the newest run is <State word={note} />
        </>
      )}
    </p>
  )
}

function Payments({ overview }: { readonly overview: GetOverviewResponse }): ReactNode {
  if (overview.unavailable.includes('payments'))
    return <p>It is not known how payments go: payments did not answer.</p>
  return overview.paymentsLastDay.length === 0 ? <FirstSteps /> : <PaymentRates overview={overview} />
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
