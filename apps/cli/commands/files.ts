import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { ATTACHMENT_MAX_BYTES } from '#lib/contract/attachments.ts'
import { openConnection } from '../call/connection.ts'
import { addCommonFlags, type CommonFlags } from '../request/common-flags.ts'
import { CommandError } from '../terminal.ts'
import type { DeclareCommand } from './command.ts'

interface GetFlags extends CommonFlags {
  readonly merchant?: string
  readonly environment: string
  readonly out: string
}

/** `multihub files get`: the bytes of a file that a merchant or the operator has uploaded. It is audited. */
export const declare: DeclareCommand = (command, terminal) => {
  const get = command
    .command('get')
    .description('download a file; "tickets show" and "chargebacks show" name their files')
    .argument('<ID>', 'the attachment id')
    .requiredOption('--environment <name>', 'test, production')
    .requiredOption('--out <path>', 'the new file')
    .option('--merchant <id>', 'whose file; your own merchant without it')
    .option('--reason <text>', 'why; it goes into the audit trail')
  addCommonFlags(get)
  get.action(async (id: string, flags: GetFlags) => {
    const query = new URLSearchParams({ environment: flags.environment, merchant_id: flags.merchant ?? '' })
    const path = `/files/${encodeURIComponent(id)}?${query}`
    const size = await openConnection(flags, terminal).transfer('GET', path, undefined, (answer) =>
      writeNewFile(flags.out, answer),
    )
    const text =
      flags.json || flags.jsonl
        ? JSON.stringify({ attachmentId: id, sizeBytes: String(size) })
        : `${flags.out}  ${size} bytes`
    terminal.stdout.write(`${text}\n`)
  })
}

/** Writes a file that is not there yet, for this user only. What comes incomplete is removed. Throws `CommandError` 2. */
async function writeNewFile(path: string, { body, headers }: Response): Promise<number> {
  let file: number
  try {
    file = openSync(path, 'wx', 0o600)
  } catch (error) {
    const is_there = (error as NodeJS.ErrnoException).code === 'EEXIST'
    throw new CommandError(2, `${path} ${is_there ? 'is there already' : 'cannot be written'}`, {
      cause: error,
    })
  }
  let size = 0
  try {
    for await (const chunk of body ?? []) {
      size += chunk.length
      if (size > ATTACHMENT_MAX_BYTES) throw new CommandError(1, 'the file is longer than files can be')
      writeSync(file, chunk)
    }
    if (String(size) !== headers.get('content-length')) throw new CommandError(3, 'the file came incomplete')
    return size
  } catch (error) {
    rmSync(path)
    if (error instanceof CommandError) throw error
    throw new CommandError(3, 'the file came incomplete', { cause: error })
  } finally {
    closeSync(file)
  }
}
