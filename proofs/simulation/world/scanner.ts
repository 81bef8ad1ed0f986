import { createHash } from 'node:crypto'
import { Duplex } from 'node:stream'
import type { Network } from '#lib/http/network.ts'
import type { Choices } from '../parts/random.ts'
import type { Machine } from '../parts/simulated-process.ts'
import type { Trace } from '../parts/trace.ts'

/** What can go wrong with a scan, as probabilities. */
export interface ScannerFaults {
  /** The connection is refused. */
  gone: number
  /** The scanner takes all bytes and never responds. */
  silent: number
  slow: number
  slow_max_ms: number
  /** The response says nothing about all bytes of the file. */
  bad_response: number
}

/** The virus scanner of the world: clamd, as its clients see it. */
export interface SimulatedScanner {
  readonly faults: ScannerFaults
  readonly connect: Network['connect']
}

/** A file with this text is infected. */
export const INFECTION = 'simulated infection'

const COMMAND = 'zINSTREAM\0'
const LENGTH_BYTES = 4

/** Responses without a verdict. The first one comes before the scanner has read the bytes. */
const BAD_RESPONSES = [
  'stream: OK\0',
  'INSTREAM size limit exceeded. ERROR\0',
  'OK\0',
  'stream: OK',
  '',
] as const

/** How one connection goes. */
interface Course {
  readonly is_gone: boolean
  readonly is_silent: boolean
  readonly bad_response: string | undefined
  readonly delay_ms: number
}

/** Makes a scanner without faults. `onClean` gets the digest of all bytes about which it says that they are clean. */
export function createScanner(
  machine: Machine,
  choices: Choices,
  trace: Trace,
  onClean: (sha256: string) => void,
): SimulatedScanner {
  const faults: ScannerFaults = { gone: 0, silent: 0, slow: 0, slow_max_ms: 0, bad_response: 0 }
  const drawCourse = (): Course => ({
    is_gone: choices.chance(faults.gone),
    is_silent: choices.chance(faults.silent),
    bad_response: choices.chance(faults.bad_response) ? choices.pick(BAD_RESPONSES) : undefined,
    delay_ms: choices.chance(faults.slow) ? choices.between(1, faults.slow_max_ms) : choices.between(0.1, 20),
  })

  function connect(): Duplex {
    const client = machine.current()
    const { is_gone, is_silent, bad_response, delay_ms } = drawCourse()
    const name = `scan ${client?.name ?? 'outside'}`
    const later = (action: () => void): void =>
      void machine.schedule(client, machine.scheduler.now_ms() + delay_ms, action)
    const respond = (text: string): void =>
      later(() => {
        trace.add(`${name}: ${text.replace('\0', '')}`)
        if (connection.destroyed) return
        connection.push(text)
        // clamd closes the connection after its response; without an end mark that is all that the client sees.
        if (!text.endsWith('\0')) connection.destroy()
      })
    const judge = (content: Buffer): void => {
      if (is_silent) return
      const is_clean = !content.includes(INFECTION)
      if (is_clean && bad_response === undefined) onClean(createHash('sha256').update(content).digest('hex'))
      respond(bad_response ?? (is_clean ? 'stream: OK\0' : 'stream: Simulated.Infection FOUND\0'))
    }
    const [early] = BAD_RESPONSES
    let received = Buffer.alloc(0)
    const connection = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        if (is_gone) return later(() => connection.destroy(new Error('ECONNREFUSED')))
        received = Buffer.concat([received, chunk])
        // An early response: the scanner stops to read, and what it says is about nothing.
        if (bad_response === early && received.length > COMMAND.length) return respond(early)
        done()
        const content = contentOf(received)
        if (content !== undefined) judge(content)
      },
    })
    return connection
  }
  return { faults, connect }
}

/** The content of a complete stream: a command, then chunks after their lengths, then a length of 0. */
function contentOf(received: Buffer): Buffer | undefined {
  const chunks: Buffer[] = []
  for (let at = COMMAND.length; at + LENGTH_BYTES <= received.length; ) {
    const length = received.readUInt32BE(at)
    if (length === 0) return Buffer.concat(chunks)
    chunks.push(received.subarray(at + LENGTH_BYTES, at + LENGTH_BYTES + length))
    at += LENGTH_BYTES + length
  }
  return undefined
}
