import { expect, it } from 'vitest'
import { encodeForStore } from '../../../components/api-server/watch-cache/object-bytes.ts'

const data = { spec: { template: { env: 'a<b && c>d' } } }

it('the data of a ControllerRevision are the bytes that Go clients compare them with', () => {
  const object = {
    kind: 'ControllerRevision',
    apiVersion: 'apps/v1',
    metadata: { name: 'r' },
    data,
  }
  const text = String(encodeForStore(object))
  expect(text).toContain(String.raw`"env":"a\u003cb \u0026\u0026 c\u003ed"`)
  expect(JSON.parse(text)).toMatchObject({ data })
})
