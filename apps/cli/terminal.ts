import { cleanText } from '#lib/contract/clean-text.ts'

/** What a command is run with. Tests replace all of it. */
export interface Terminal {
  readonly variables: Readonly<Record<string, string | undefined>>
  /** The folder in which `.local/demo.json` of a local run is looked for. */
  readonly directory: string
  readonly stdin: NodeJS.ReadStream
  readonly stdout: Output
  readonly stderr: Output
}

/** A stream that text is written to. */
export interface Output {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
  /** Whether states are in colours. */
  readonly has_colours?: boolean
}

/** How a command can end without its result. */
export type ExitCode = 1 | 2 | 3

/**
 * A failure with the lines that people read, without characters that a terminal obeys: 1 refused, 2 wrong usage, 3 unreachable.
 */
export class CommandError extends Error {
  readonly exit_code: ExitCode
  /** The code of the error table, when the refusal has one. */
  readonly error_code: number | undefined

  constructor(
    exit_code: ExitCode,
    message: string,
    options?: ErrorOptions & { readonly error_code?: number },
  ) {
    super(message.split('\n').map(cleanText).join('\n'), options)
    this.name = 'CommandError'
    this.exit_code = exit_code
    this.error_code = options?.error_code
  }
}
