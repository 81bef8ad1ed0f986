const HOLDER = { holder_name: 'Sandbox Receiver', bank_name: 'Sandbox Bank' }

const OTHER_CURRENCIES = { ...HOLDER, account_id: '0000000017', bank_code: '0001' }

/**
 * Invented bank accounts by currency, which a customer pays to. Their check digits are valid, so that a client's validation
 * accepts them.
 */
const ACCOUNTS: Readonly<Record<string, typeof OTHER_CURRENCIES>> = {
  INR: { ...HOLDER, account_id: '000000000017', bank_code: 'SBOX0000001' },
  MXN: { ...HOLDER, account_id: '646180990000000009', bank_code: '646' },
  ARS: { ...HOLDER, account_id: '0000001700000000000017', bank_code: '000' },
  TRY: { ...HOLDER, account_id: 'TR610000100000000000000001', bank_code: '00001' },
  AUD: { ...HOLDER, account_id: '000000017', bank_code: '000001' },
  LKR: { ...HOLDER, account_id: '0000000017', bank_code: '0001' },
}

/** The invented person behind these accounts. No country has this calling code. */
const RECEIVER = { phone: '+99900000017', document: { type: 'SANDBOX', number: '00000017' } }

/** The UPI apps that a customer can pay with, by the scheme of their deep links. */
const UPI_APPS = ['upi://pay', 'phonepe://pay', 'paytmmp://pay', 'gpay://upi/pay']

/** What a customer needs to pay a deposit. The method decides which fields are present (P13); an unknown one has none. */
export function instructionsOf(
  deposit: {
    readonly method: string
    readonly currency: string
    readonly amount: bigint
    readonly provider_id: string
  },
  base_url: string,
) {
  const payment_url = `${base_url}/pay/${deposit.provider_id}`
  switch (deposit.method) {
    case 'upi': {
      const query = upiQuery(deposit.amount, deposit.provider_id)
      return { deep_links: UPI_APPS.map((app) => `${app}?${query}`), qr_payload: `upi://pay?${query}` }
    }
    case 'imps':
    case 'havale':
      return transferDetails(deposit.currency)
    case 'bank_transfer':
      return { ...transferDetails(deposit.currency), payment_url }
    case 'papara':
    case 'kredikarti':
      return { payment_url }
    default:
      return undefined
  }
}

function transferDetails(currency: string) {
  const { account_id, holder_name, bank_name, bank_code } = ACCOUNTS[currency] ?? OTHER_CURRENCIES
  const bank = { name: bank_name, code: bank_code }
  return { bank_account: { id: account_id, name: holder_name }, bank, ...RECEIVER }
}

function upiQuery(amount: bigint, provider_id: string): string {
  const rupees = `${amount / 100n}.${String(amount % 100n).padStart(2, '0')}`
  return `pa=sandbox@sandbox&pn=Sandbox%20Receiver&am=${rupees}&cu=INR&tr=${provider_id}`
}
