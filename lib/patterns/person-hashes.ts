/** What a person can be found by (O11). */
export type PersonKey = 'email' | 'phone' | 'account'

/** The form of a value in which spellings of the same are equal. */
const NORMAL_FORMS: Readonly<Record<PersonKey, (value: string) => string>> = {
  email: (value) => value.trim().toLowerCase(),
  phone: (value) => value.replace(/[^0-9]/g, ''),
  account: (value) => value.replace(/[^0-9A-Za-z]/g, '').toUpperCase(),
}

/** The values of a person by which it can be found. */
export type PersonKeys = { readonly [Name in PersonKey]?: string | undefined }

/**
 * What is signed under the key of the purpose `search` for each value of a person, so that it is found by the exact value
 * and nothing can be read back. The merchant is no part of it: one search looks at all merchants.
 */
export function personSubjects(keys: PersonKeys): readonly string[] {
  return (Object.keys(NORMAL_FORMS) as PersonKey[]).flatMap((name) => {
    const normal = NORMAL_FORMS[name](keys[name] ?? '')
    return normal === '' ? [] : [`${name}:${normal}`]
  })
}

/** What a text looks like that can be a value of a person: accounts have 5 to 34 characters, mostly digits. */
const FORMS: Readonly<Record<PersonKey, (text: string) => boolean>> = {
  email: (text) => /^[^@\s]+@[^@\s]+$/.test(text),
  phone: (text) => /^\+?[0-9 ().-]{5,24}$/.test(text),
  account: (text) => /^(?:[A-Z]{2}[0-9]{2}[0-9A-Z ]{8,36}|[0-9][0-9 -]{3,40}[0-9])$/i.test(text),
}

/**
 * The subjects that a text of a search may be: the text as each value of a person that has its form. None for a text that can be
 * no such value, such as a UUID; a UTR can look like an account.
 */
export function personSubjectsIn(text: string): readonly string[] {
  const names = (Object.keys(FORMS) as PersonKey[]).filter((name) => FORMS[name](text))
  return personSubjects(Object.fromEntries(names.map((name) => [name, text])))
}
