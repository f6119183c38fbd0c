/** Metadata alone, copied from the stored bytes, against the same view made of the decoded objects. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { Form } from '../../../components/api-server/encoding/form.ts'
import { jsonForm, metadataForm } from '../../../components/api-server/encoding/json-form.ts'
import { partialView } from '../../../components/api-server/encoding/view.ts'
import { Entry } from '../../../components/api-server/watch-cache/entry.ts'
import { encodeForStore } from '../../../components/api-server/watch-cache/object-bytes.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { arbitraryObject } from '../../support/arbitrary-object.ts'

const { configMaps } = resourcesOf(dialects.kubernetes)
const view = partialView('meta.k8s.io/v1', configMaps)
const copied = metadataForm(view, configMaps)
const decoded = jsonForm(view)
const inStore = 'core/v1.ConfigMap'

function entryOf(object: KubeObject, revision: number, isProven: boolean): Entry {
  const entry = new Entry('default/name', revision, encodeForStore(object))
  entry.isProven = isProven
  return entry
}

async function shownBy(form: Form, entries: readonly Entry[]): Promise<string[]> {
  const list: Buffer[] = []
  const meta = { resourceVersion: '7', continue: 'next' }
  for await (const piece of form.list(meta, entries)) list.push(piece)
  const shown = entries.flatMap((entry) => [form.one(entry), form.frame('MODIFIED', entry)])
  return [Buffer.concat(list), ...(await Promise.all(shown))].map(String)
}

it('is byte for byte the metadata of the decoded objects, alone, in lists and in watches', async () => {
  const object = arbitraryObject(inStore, { kind: 'ConfigMap', apiVersion: 'v1' })
  const any = fc.tuple(object, fc.nat(), fc.boolean())
  await fc.assert(
    fc.asyncProperty(fc.array(any, { maxLength: 3 }), async (drawn) => {
      const entries = (): Entry[] =>
        drawn.map(([value, revision, isProven]) => entryOf(value, revision, isProven))
      expect(await shownBy(copied, entries())).toEqual(await shownBy(decoded, entries()))
    }),
  )
})

it('does not show what was never looked at and is no object', () => {
  const bytes = encodeForStore({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a' } })
  const damaged = Buffer.from(String(bytes).replace('}}', '}?'))
  const entry = new Entry('default/a', 3, damaged)
  entry.isProven = false
  expect(() => copied.one(entry)).toThrow('default/a')
})
