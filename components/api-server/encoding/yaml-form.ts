/** YAML form: fields in order of name, as upstream's; lists are put together some items at a time. There is no watch in YAML. */
import type { Form } from './form.ts'
import type { YamlBodies } from './yaml-bodies.ts'
import { listMetaOf, type View } from './view.ts'

/** Items are written together until they have so much JSON. */
const pieceBytes = 64 * 1024

/** A list's fields before or after its items, in order of name, as JSON. */
function around(view: View, side: 'before' | 'after', metadata: object): Buffer | undefined {
  const { listKind: kind, apiVersion, listFields, itemsName } = view
  const fields = Object.entries({ kind, apiVersion, metadata, ...listFields }).filter(
    ([name]) => name < itemsName === (side === 'before'),
  )
  return fields.length === 0 ? undefined : Buffer.from(JSON.stringify(Object.fromEntries(fields)))
}

/** The view's JSON form, written as YAML. */
export function yamlForm(view: View, json: Form, yaml: Pick<YamlBodies, 'write'>): Form {
  // Copied items are JSON, so a list in YAML is never copied.
  const { copiedList: _, ...shared } = json
  return {
    ...shared,
    name: `yaml ${view.name}`,
    mediaType: 'application/yaml',
    streamType: undefined,
    one: async (shown) => yaml.write(await json.one(shown)),
    async *list(meta, items) {
      const none = items.length === 0 ? ' []' : ''
      const metadata = listMetaOf(meta)
      const [before, after] = [around(view, 'before', metadata), around(view, 'after', metadata)]
      if (before !== undefined) yield await yaml.write(before)
      yield Buffer.from(`${view.itemsName}:${none}\n`)
      let piece: string[] = []
      let length = 0
      for (const [index, shown] of items.entries()) {
        const item = JSON.stringify(view.item(shown))
        piece.push(item)
        length += item.length
        if (length < pieceBytes && index < items.length - 1) continue
        yield await yaml.write(Buffer.from(`[${piece.join(',')}]`))
        piece = []
        length = 0
      }
      if (after !== undefined) yield await yaml.write(after)
    },
  }
}
