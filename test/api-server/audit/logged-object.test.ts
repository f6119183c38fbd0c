/** What of a body records show. */
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { loggedObject } from '../../../components/api-server/audit/logged-object.ts'
import type { RequestContext } from '../../../components/api-server/request/request.ts'

const compressed = { contentType: 'application/json', contentEncoding: 'gzip' }
const shown = async (text: string): Promise<unknown> =>
  await loggedObject(gzipSync(text), {} as RequestContext, {
    ...compressed,
    omitManagedFields: false,
  })

test('a compressed body is shown, unless it inflates to more than 32 MiB', async () => {
  expect(await shown('{"kind":"Pod"}')).toEqual({ kind: 'Pod' })
  expect(await shown(JSON.stringify({ text: 'a'.repeat(33 * 1024 * 1024) }))).toBeUndefined()
})
