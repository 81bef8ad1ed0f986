import { type Tone, toneOf } from '#lib/contract/tones.ts'
import type { Output, Terminal } from '../terminal.ts'

/** The colours of terminals (ISO 6429), which each terminal fits to its background. */
const COLOURS: Readonly<Record<Tone, number>> = { good: 32, moving: 34, waiting: 33, bad: 31, plain: 39 }
const DEFAULT_COLOUR = 39

/** Standard output of a person who sees colours: a terminal, unless `NO_COLOR` is set. */
export function withColours({ stdout, variables }: Terminal): Output {
  if (stdout.isTTY !== true || variables['NO_COLOR'] || variables['TERM'] === 'dumb') return stdout
  return {
    write: (text) => stdout.write(text),
    isTTY: true,
    get columns() {
      return stdout.columns ?? 80
    },
    has_colours: true,
  }
}

/** A text in the colour of its tone, where the output has colours. */
export function inTone({ has_colours }: Output, text: string, tone: Tone): string {
  return has_colours && tone !== 'plain' ? `\u001b[${COLOURS[tone]}m${text}\u001b[${DEFAULT_COLOUR}m` : text
}

/** A state, such as `success`, in its colour. */
export function stateText(output: Output, word: string, enum_name = ''): string {
  return inTone(output, word, toneOf(word, enum_name))
}
