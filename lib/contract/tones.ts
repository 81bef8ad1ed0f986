/** What a state means to the person who reads it. Each tone has a colour and a shape. */
export type Tone = 'good' | 'moving' | 'waiting' | 'bad' | 'plain'

/** The shapes of the tones, so that nobody depends on colours. */
export const SHAPES: Readonly<Record<Tone, string>> = {
  good: '●',
  moving: '◐',
  waiting: '▲',
  bad: '✕',
  plain: '○',
}

const WORDS: Readonly<Record<Exclude<Tone, 'plain'>, string>> = {
  good: 'success succeeded completed delivered won executed done active enabled resolved consistent paid',
  moving: 'created processing approved in_progress under_review half_open refunded partially_refunded',
  waiting:
    'pending unfinished waiting_customer on_hold draining pending_approval suspended urgent held failing unknown',
  bad: 'error declined failed dead lost rejected refused disabled blocked revoked inconsistent damaged',
}

const TONES: ReadonlyMap<string, Tone> = new Map(
  Object.entries(WORDS).flatMap(([tone, words]) => words.split(' ').map((word) => [word, tone as Tone])),
)

/** An open ticket waits for a person, and an open circuit breaker has stopped. */
const OPEN: Readonly<Record<string, Tone>> = {
  'multihub.payments.v1.CircuitState': 'bad',
  'multihub.notifier.v1.DestinationState': 'bad',
}
const CLOSED = new Set(Object.keys(OPEN))

/** The tone of a state word, such as `success`, of an enum. */
export function toneOf(word: string, enum_name = ''): Tone {
  if (word === 'open') return OPEN[enum_name] ?? 'waiting'
  if (word === 'closed') return CLOSED.has(enum_name) ? 'good' : 'plain'
  return TONES.get(word) ?? 'plain'
}
