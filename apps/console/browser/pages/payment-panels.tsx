import type { ReactNode } from 'react'
import type { TimelineRow } from '#gen/multihub/backoffice/v1/timeline_service_pb.ts'
import { amountText } from '#lib/contract/shown-values.ts'
import { attemptsOf, type Change, callbacksOf, entriesOf } from '../../values/payment-rows.ts'
import { Id, Text } from '../parts/text.tsx'
import { Tries, tryWords } from '../parts/tries.tsx'
import { State, Time } from '../parts/values.tsx'
import { DeliveryBody } from './delivery-body.tsx'

type Rows = { readonly rows: readonly TimelineRow[] }

/** Each attempt at an account of a provider, and what it answered. */
export function Attempts({ rows }: Rows): ReactNode {
  const attempts = attemptsOf(rows)
  if (attempts.length === 0) return null
  return (
    <section>
      <h2>Attempts</h2>
      <ol className="plain">
        {attempts.map((attempt) => (
          <li key={attempt.number}>
            {attempt.number}. <Id kind="provider_account">{attempt.account_id}</Id>{' '}
            {attempt.outcome !== '' && <State word={attempt.outcome} />}{' '}
            <small className="quiet">{tryWords(attempt)}</small>
          </li>
        ))}
      </ol>
    </section>
  )
}

/** What the ledger booked about a payment, and the balances of the merchant before and after. */
export function Entries({ rows }: Rows): ReactNode {
  const entries = entriesOf(rows)
  if (entries.length === 0) return null
  return (
    <section>
      <h2>Ledger</h2>
      {entries.map(({ entry_id, time, reason, currency, available, held }) => (
        <div key={entry_id} className="entry">
          <p>
            <Text>{reason.replaceAll('_', ' ')}</Text>{' '}
            <small className="quiet">
              <Time>{time}</Time>
            </small>
          </p>
          <ChangeRow name="available" currency={currency} change={available} />
          {(held.before !== held.after || available.before === available.after) && (
            <ChangeRow name="held" currency={currency} change={held} />
          )}
        </div>
      ))}
    </section>
  )
}

function ChangeRow({
  name,
  currency,
  change: { before, after },
}: {
  readonly name: string
  readonly currency: string
  readonly change: Change
}): ReactNode {
  const text = (minor: bigint): string => amountText(minor, currency, { is_minor: false })
  const difference = after - before
  return (
    <p className="change">
      <span className="quiet">{name}</span>
      <strong className="amount">
        {difference > 0n ? '+' : ''}
        {text(difference)}
      </strong>
      <span className="range quiet">
        {text(before).replace(` ${currency}`, '')} → {text(after)}
      </span>
    </p>
  )
}

/** The callbacks about a payment: where they went, every try, and the body that a person may reveal. */
export function Callbacks({ rows }: Rows): ReactNode {
  const callbacks = callbacksOf(rows)
  if (callbacks.length === 0) return null
  return (
    <section>
      <h2>Callbacks</h2>
      {callbacks.map(({ delivery_id, event, url, tries }) => {
        const last = tries.at(-1)
        return (
          <details key={delivery_id} className="callback">
            <summary>
              <Text>{event}</Text> <Tries tries={tries} />{' '}
              {last && <small className="quiet">{tryWords(last)}</small>}
            </summary>
            <p>
              <Text>{url}</Text> <Id kind="delivery">{delivery_id}</Id>
            </p>
            <DeliveryBody delivery_id={delivery_id} />
          </details>
        )
      })}
    </section>
  )
}
