import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ReactNode } from 'react'
import { durationText } from '#lib/contract/shown-values.ts'
import type { Try } from '../../values/payment-rows.ts'
import { wordsOf } from '../../values/times.ts'
import { useZone } from './preferences.ts'

/** A strip of tries, oldest first: a full block arrived, a low one with a frame did not. Each says what it was. */
export function Tries({ tries }: { readonly tries: readonly Try[] }): ReactNode {
  const zone = useZone()
  if (tries.length === 0) return null
  const good = tries.filter(({ failure }) => failure === '').length
  return (
    <span className="tries" role="img" aria-label={`${tries.length} tries, ${good} arrived`}>
      {tries.map((one) => (
        <span
          key={`${one.number} ${one.at_ms}`}
          className={one.failure === '' ? 'good' : 'bad'}
          title={`try ${one.number}, ${wordsOf(timestampFromMs(one.at_ms), zone).time}: ${tryWords(one)}`}
        />
      ))}
    </span>
  )
}

/** What came of a try, such as `HTTP 500 after 55 ms`. */
export function tryWords({ http_status, failure, duration_ms }: Try): string {
  const what = http_status > 0 ? `HTTP ${http_status}` : failure.replaceAll('_', ' ')
  return `${what} after ${durationText(Math.round(duration_ms))}`
}
