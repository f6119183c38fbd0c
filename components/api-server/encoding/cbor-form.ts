/** CBOR form: one item for an answer, a sequence of items for a watch. */
import { cborBody, cborHead, cborListHead, readCbor, writeCbor } from './cbor.ts'
import type { Form } from './form.ts'
import type { WatchEventType } from '../watch-cache/watcher.ts'
import { schemaOf } from '../../api/schemas.ts'
import { listMetaOf, type View } from './view.ts'

function frameOf(type: WatchEventType | 'BOOKMARK' | 'ERROR', body: Buffer): Buffer {
  return Buffer.concat([cborHead({ type }, 'object'), body])
}

function cborForm(view: View): Form {
  const { schema, listKind: kind, apiVersion, listFields, itemsName, watched = view.object } = view
  return {
    name: `cbor ${view.name}`,
    mediaType: 'application/cbor',
    streamType: 'application/cbor-seq',
    framePrefix: 0,
    one: (shown) => cborBody(view.object(shown), schema),
    *list(meta, items) {
      yield cborHead({ kind, apiVersion, metadata: listMetaOf(meta), ...listFields }, itemsName)
      yield cborListHead(items.length)
      for (const shown of items) yield writeCbor(view.item(shown), schema)
    },
    frame: (type, shown) => frameOf(type, cborBody(watched(shown), schema)),
    firstFrame: (type, shown) => frameOf(type, cborBody(view.object(shown), schema)),
    bookmark: (resourceVersion, annotations) =>
      frameOf('BOOKMARK', cborBody(view.bookmark(resourceVersion, annotations), schema)),
    error: (status) => frameOf('ERROR', cborBody(status, schemaOf('meta/v1.Status'))),
  }
}

/** What the feature gate switches on: forms for answers, bodies of any value, and the reading of what is sent. */
export const cbor = { form: cborForm, body: cborBody, read: readCbor }

export type Cbor = typeof cbor
