import { bankOfCbu, isCbu, isClabe, isTurkishIban } from './bank-numbers.ts'
import type { ErrorCode } from './errors/error-table.ts'
import { fieldError } from './errors/public-error.ts'
import type { RouteCurrency } from './money.ts'

/** The bank account of the recipient of a withdrawal, as the merchant names it. */
export interface BankAccount {
  /** An account number, CLABE, CBU, CVU or IBAN. */
  readonly account_id: string
  /** The code of the branch in India. */
  readonly ifsc?: string | undefined
  /** The code of the bank in Argentina, the BSB in Australia. */
  readonly bank_code?: string | undefined
}

/** A field that belongs to the account in some countries. */
interface CodeRule {
  readonly is_required: boolean
  readonly isValid: (code: string, account: BankAccount) => boolean
}

/** What the country of a currency demands of an account. A field without a rule does not exist in that country. */
interface AccountRule {
  readonly isAccount: (text: string) => boolean
  readonly ifsc?: CodeRule
  readonly bank_code?: CodeRule
}

const matching =
  (pattern: RegExp) =>
  (text: string): boolean =>
    pattern.test(text)

/** The rules of P12, by the currency of the route. */
const RULES = {
  INR: {
    isAccount: matching(/^[0-9]{9,18}$/),
    ifsc: { is_required: true, isValid: matching(/^[A-Z]{4}0[A-Z0-9]{6}$/) },
  },
  MXN: { isAccount: isClabe },
  ARS: {
    isAccount: isCbu,
    bank_code: {
      is_required: false,
      isValid: (code, { account_id }) => /^[0-9]{3}$/.test(code) && code === bankOfCbu(account_id),
    },
  },
  TRY: { isAccount: isTurkishIban },
  AUD: {
    isAccount: matching(/^[0-9]{5,9}$/),
    bank_code: { is_required: true, isValid: matching(/^[0-9]{6}$/) },
  },
  LKR: { isAccount: matching(/^[0-9]{6,18}$/) },
} satisfies Readonly<Record<RouteCurrency, AccountRule>>

const CODES = ['ifsc', 'bank_code'] as const

const PATHS = {
  account_id: 'params.payment.receiver.bank.account.id',
  ifsc: 'params.payment.receiver.bank.ifsc',
  bank_code: 'params.payment.receiver.bank.code',
} as const

/**
 * Checks the account of a withdrawal by the rules of its currency (P12). Throws the first violation in the order of E6:
 * 1005 for a missing code, 9000 for a code that the country does not have, 8600 for a bad account or IFSC, 8601 for a bad
 * bank code. No error contains bank data.
 */
export function checkBankAccount(currency: string, account: BankAccount): void {
  const rules: Readonly<Record<string, AccountRule>> = RULES
  const rule = Object.hasOwn(rules, currency) ? rules[currency] : undefined
  if (rule === undefined) throw new TypeError(`no rule for bank accounts in ${currency}`)
  for (const code of CODES) {
    if (rule[code]?.is_required && account[code] === undefined) throw violation(1005, code)
  }
  for (const code of CODES) {
    if (rule[code] === undefined && account[code] !== undefined) throw violation(9000, code)
  }
  if (!rule.isAccount(account.account_id)) throw violation(8600, 'account_id')
  if (account.ifsc !== undefined && !rule.ifsc?.isValid(account.ifsc, account)) throw violation(8600, 'ifsc')
  if (account.bank_code !== undefined && !rule.bank_code?.isValid(account.bank_code, account))
    throw violation(8601, 'bank_code')
}

function violation(code: ErrorCode, field: keyof typeof PATHS): Error {
  return fieldError(code, PATHS[field])
}
