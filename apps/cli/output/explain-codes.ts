import type { DescMessage, Message } from '@bufbuild/protobuf'
import { ERROR_ADVICE } from '#lib/contract/errors/error-advice.ts'
import { ERROR_TABLE, isErrorCode } from '#lib/contract/errors/error-table.ts'
import { fieldValue } from '#lib/contract/shown-values.ts'
import type { Output } from '../terminal.ts'

/** Prints what codes of the error table mean, and what a merchant does about them. */
export function explainCodes(output: Output, codes: Iterable<number>): void {
  for (const code of [...codes].sort((a, b) => a - b)) {
    if (code === 0) continue
    if (isErrorCode(code))
      output.write(
        `${code} ${ERROR_TABLE[code].message}\n  for the merchant: ${ERROR_ADVICE[code].replaceAll('`', '')}\n`,
      )
    else output.write(`${code} is not in the error table of this release\n`)
  }
}

/** The codes of the error table in a message and its parts: the numbers whose names end in `code`, and lists of refusals. */
export function codesIn(desc: DescMessage, message: Message): readonly number[] {
  return desc.fields.flatMap((field) => {
    const value = fieldValue(message, field)
    const values: readonly unknown[] = Array.isArray(value) ? value : [value]
    if (field.fieldKind !== 'map' && field.message !== undefined) {
      const part = field.message
      return values.flatMap((one) => (one === undefined ? [] : codesIn(part, one as Message)))
    }
    if (!/(?:^|_)code$|^refusals$/.test(field.name)) return []
    return values.filter((one): one is number => typeof one === 'number' && one !== 0)
  })
}
