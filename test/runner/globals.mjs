/**
 * What tests import from `@jest/globals`. Jest makes these anew for each test file; the exports are live, so modules that
 * stay loaded see the present ones.
 */
export let test, describe, beforeAll, afterAll, beforeEach, afterEach, expect, jest

/** Sets the globals of the test file that begins. */
export function setGlobals(now) {
  ;({ test, describe, beforeAll, afterAll, beforeEach, afterEach, expect, jest } = now)
}
