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
