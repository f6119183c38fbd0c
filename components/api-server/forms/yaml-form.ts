/** YAML form: fields in order of name, as upstream's; lists are put together item by item. There is no watch in YAML. */
import type { Form } from '../forms.ts'
import { dump } from '../yaml.ts'
import { listMetaOf, type View } from './view.ts'
import { jsonForm } from './json-form.ts'

/** A list's fields before and after its items, in order of name. */
function around(view: View, side: 'before' | 'after', metadata: object): string {
  const { listKind: kind, apiVersion, listFields, itemsName } = view
  const fields = Object.entries({ kind, apiVersion, metadata, ...listFields }).filter(
    ([name]) => name < itemsName === (side === 'before'),
  )
  return fields.length === 0 ? '' : dump(Object.fromEntries(fields))
}

export function yamlForm(view: View): Form {
  return {
    ...jsonForm(view),
    name: `yaml ${view.name}`,
    mediaType: 'application/yaml',
    streamType: undefined,
    one: (shown) => Buffer.from(dump(view.object(shown))),
    *list(meta, items) {
      const none = items.length === 0 ? ' []' : ''
      const metadata = listMetaOf(meta)
      yield Buffer.from(`${around(view, 'before', metadata)}${view.itemsName}:${none}\n`)
      for (const shown of items) yield Buffer.from(dump([view.item(shown)]))
      yield Buffer.from(around(view, 'after', metadata))
    },
  }
}
