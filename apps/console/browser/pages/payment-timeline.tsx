import type { JsonObject } from '@bufbuild/protobuf'
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import { type ReactNode, useState } from 'react'
import type { TimelineRow, TimelineStep } from '#gen/multihub/backoffice/v1/timeline_service_pb.ts'
import { amountText, durationText } from '#lib/contract/shown-values.ts'
import { addressOf, kindOfField } from '../../values/addresses.ts'
import { groupRows, isInLane, LANES } from '../../values/timeline-groups.ts'
import { wordsOf } from '../../values/times.ts'
import { useZone } from '../parts/preferences.ts'
import { Id, Lines, PageLink, Text } from '../parts/text.tsx'
import { Age } from '../parts/values.tsx'

/** Rows within this time of a row with its whole time show how much later they are. */
const NEAR_MS = 60_000

/** Everything that happened to a payment, oldest first, in lanes that can be hidden. */
export function Timeline({ rows }: { readonly rows: readonly TimelineRow[] }): ReactNode {
  const [hidden, setHidden] = useState<readonly string[]>([])
  const groups = groupRows(rows.filter(({ kind }) => !hidden.some((lane) => isInLane(kind, lane))))
  const labels = useTimeLabels(groups.map(({ rows: [first] }) => first.time))
  return (
    <section className="timeline">
      <h2>Timeline</h2>
      <fieldset className="lanes">
        <legend>Lanes</legend>
        {Object.keys(LANES).map((lane) => (
          <label key={lane}>
            <input
              type="checkbox"
              checked={!hidden.includes(lane)}
              onChange={({ target: { checked } }) =>
                setHidden(checked ? hidden.filter((one) => one !== lane) : [...hidden, lane])
              }
            />
            {lane}
          </label>
        ))}
      </fieldset>
      <ol>
        {groups.map(({ key, rows: group }, index) => (
          <li key={key} className={group[0].kind}>
            {labels[index]?.day && <h3>{labels[index].day}</h3>}
            <Group label={labels[index]?.label ?? ''} rows={group} />
          </li>
        ))}
      </ol>
    </section>
  )
}

/** The label of each time: the whole time, or how much later it is; the day once. */
function useTimeLabels(times: readonly (Timestamp | undefined)[]) {
  const zone = useZone()
  let day = ''
  let anchor_ms = Number.NEGATIVE_INFINITY
  return times.map((time) => {
    if (time === undefined) return { label: '', day: '' }
    const words = wordsOf(time, zone)
    const is_new_day = words.day !== day
    day = words.day
    const later_ms = timestampMs(time) - anchor_ms
    const is_near = later_ms < NEAR_MS && !is_new_day
    if (!is_near) anchor_ms = timestampMs(time)
    return {
      label: is_near ? `+${durationText(later_ms)}` : words.time,
      day: is_new_day ? `${words.day} (${words.zone})` : '',
    }
  })
}

function Group({
  label,
  rows,
}: {
  readonly label: string
  readonly rows: readonly [TimelineRow, ...TimelineRow[]]
}): ReactNode {
  const zone = useZone()
  const last = rows.at(-1) ?? rows[0]
  return (
    <details>
      <summary>
        <span className="when">{label}</span>{' '}
        <span>
          <Text>{last.title}</Text>
          {rows.length > 1 && <small> ({rows.length} tries)</small>}
        </span>
      </summary>
      {rows.map((row, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the tries of one delivery are in order, and only grow
        <div key={index} className="row-data">
          {rows.length > 1 && (
            <p>
              {row.time && wordsOf(row.time, zone).time} <Text>{row.title}</Text>
            </p>
          )}
          <Data data={row.data ?? {}} />
          <p>
            {row.refs.map(({ kind, id }) => (
              <Reference key={`${kind} ${id}`} kind={kind} id={id} />
            ))}
          </p>
        </div>
      ))}
    </details>
  )
}

function Reference({ kind, id }: { readonly kind: string; readonly id: string }): ReactNode {
  const address = addressOf(kind, id)
  const name = kind.replaceAll('_', ' ')
  return (
    <span className="reference">
      {address === undefined ? name : <PageLink to={address}>{name}</PageLink>} <Id kind={kind}>{id}</Id>
    </span>
  )
}

/** The amounts of a row are minor units, as texts, next to their currency. */
const AMOUNTS = new Set(['amount', 'available_after', 'held_after'])

function Data({ data }: { readonly data: JsonObject }): ReactNode {
  const currency = typeof data['currency'] === 'string' ? data['currency'] : ''
  const text = (name: string, value: unknown): string =>
    AMOUNTS.has(name) && /^-?\d+$/.test(String(value)) && currency !== ''
      ? amountText(BigInt(String(value)), currency, { is_minor: false })
      : String(value)
  const entries = Object.entries(data).filter(([name]) => name !== 'currency')
  return (
    <dl className="facts">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>
            <Text>{name.replaceAll('_', ' ')}</Text>
          </dt>
          <dd>
            {kindOfField(name) !== undefined ? <Id>{String(value)}</Id> : <Lines>{text(name, value)}</Lines>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** Who or what a payment waits for, and until when. */
export function NextSteps({
  steps,
  unavailable,
}: {
  readonly steps: readonly TimelineStep[]
  /** The roles that did not answer, whose steps are not known. */
  readonly unavailable: readonly string[]
}): ReactNode {
  return (
    <section className="next" aria-label="What comes next">
      <h2>What comes next</h2>
      {unavailable.length > 0 ? (
        <p>Not all of it is known: {unavailable.join(', ')} did not answer.</p>
      ) : (
        steps.length === 0 && <p>Nothing: it is final.</p>
      )}
      <ul>
        {steps.map(({ title, time, waitsFor, refs }) => (
          <li key={`${title} ${waitsFor} ${refs[0]?.id}`}>
            <Text>{title}</Text> {time && <Age>{time}</Age>} <small>waits for: {waitsFor}</small>{' '}
            {refs.map(({ kind, id }) => (
              <Reference key={`${kind} ${id}`} kind={kind} id={id} />
            ))}
          </li>
        ))}
      </ul>
    </section>
  )
}
