import { type ReactNode, useState } from 'react'

/** One place on the axis of time, with what happened in it, from the bottom to the top. */
export interface Bar {
  readonly key: string
  /** What a person reads about it: when, and how much. */
  readonly words: string
  readonly parts: readonly { readonly tone: 'good' | 'bad' | 'moving'; readonly value: number }[]
}

const HEIGHT = 100

/**
 * Bars over time, drawn by the browser. What a bar says is shown below while the pointer is on it, and the page has all numbers as a
 * table next to it.
 */
export function BarChart({
  label,
  bars,
  from,
  to,
}: {
  readonly label: string
  readonly bars: readonly Bar[]
  /** The words at both ends of the axis. */
  readonly from: string
  readonly to: string
}): ReactNode {
  const [chosen, setChosen] = useState<string>()
  const heightOf = ({ parts }: Bar): number => parts.reduce((sum, { value }) => sum + value, 0)
  const max = Math.max(1, ...bars.map(heightOf))
  return (
    <figure className="chart">
      <div className="plot">
        <span className="top" aria-hidden="true">
          {max.toLocaleString('en')}
        </span>
        <svg
          role="img"
          aria-label={label}
          viewBox={`0 0 ${bars.length} ${HEIGHT}`}
          preserveAspectRatio="none"
          onMouseLeave={() => setChosen(undefined)}
        >
          {bars.map((bar, place) => (
            // biome-ignore lint/a11y/noStaticElementInteractions: the table has the numbers for those without a pointer
            <g key={bar.key} onMouseEnter={() => setChosen(bar.words)}>
              <rect className="hit" x={place} y={0} width={1} height={HEIGHT} />
              <Parts bar={bar} place={place} max={max} />
            </g>
          ))}
        </svg>
      </div>
      <figcaption aria-hidden="true">
        <span>{from}</span>
        <span>{chosen ?? ''}</span>
        <span>{to}</span>
      </figcaption>
    </figure>
  )
}

function Parts({
  bar,
  place,
  max,
}: {
  readonly bar: Bar
  readonly place: number
  readonly max: number
}): ReactNode {
  let below = 0
  return bar.parts.map(({ tone, value }) => {
    const height = (value / max) * HEIGHT
    below += height
    return <rect key={tone} className={tone} x={place + 0.1} y={HEIGHT - below} width={0.8} height={height} />
  })
}
