/** form-for: the form in which a request wants a resource. Forms that depend on the resource alone are made once. */
import { objectKindOf } from '../../api/object-kind.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { remembered } from '../../machinery/values/remembered.ts'
import { StatusError } from '../../machinery/objects/status-error.ts'
import type { Form } from '../encoding/form.ts'
import { mediaTypeOf, negotiate, viewsOf, type Encoding, type Representation } from './negotiate.ts'
import type { RequestContext } from '../request/request.ts'
import {
  customForm,
  jsonForm,
  metadataForm,
  prettyForm,
  storedForm,
} from '../encoding/json-form.ts'
import { protobufForm } from '../encoding/protobuf-form.ts'
import {
  objectView,
  partialView,
  tableView,
  type IncludeObject,
  type View,
} from '../encoding/view.ts'
import { yamlForm } from '../encoding/yaml-form.ts'

interface Known {
  readonly encodings: readonly Encoding[]
  /** By encoding, view and version. */
  readonly forms: Map<string, Form>
  readonly stored: Form | undefined
}

/** Of kinds that have no protobuf form. */
const metadataEncodings: readonly Encoding[] = ['protobuf']

const knownOf = remembered((resource: Resource): Known => {
  const { hasProtobuf, isShownAsStored } = objectKindOf(resource)
  return {
    encodings: hasProtobuf ? ['json', 'yaml', 'protobuf'] : ['json', 'yaml'],
    forms: new Map(),
    stored:
      resource.package !== resource.storageVersion.package
        ? undefined
        : isShownAsStored
          ? storedForm(resource)
          : customForm(resource),
  }
})

function encoded(view: View, representation: Representation, context: RequestContext): Form {
  const { encoding, pretty } = representation
  const { dialect, cbor } = context
  switch (encoding) {
    case 'yaml':
      return yamlForm(view, jsonForm(view), context.yaml)
    case 'protobuf':
      if (view.schema === undefined) throw new Error(`${view.kind} has no protobuf form`)
      return protobufForm(view, view.schema, mediaTypeOf(encoding, dialect))
    case 'cbor':
      if (cbor === undefined) throw new Error('CBOR is off')
      return cbor.form(view)
    case 'json':
      return pretty ? prettyForm(view) : jsonForm(view)
  }
}

/** A list has no single metadata, and an object no list of them. */
function checkShape(view: Representation['view'], isList: boolean, resource: Resource): void {
  if (view === 'PartialObjectMetadata' && isList) {
    throw new StatusError(
      'NotAcceptable',
      `you requested PartialObjectMetadata, but the requested object is a list (*${resource.package.split('/', 1)[0]}.${resource.listKind})`,
    )
  }
  if (view === 'PartialObjectMetadataList' && !isList) {
    throw new StatusError(
      'NotAcceptable',
      `you requested PartialObjectMetadataList, but the requested object is not a list (*${resource.package.split('/', 1)[0]}.${resource.kind})`,
    )
  }
}

/** The form this request wants its answer in. Throws 406. */
export function formFor(
  context: RequestContext,
  resource: Resource,
  options: { include: IncludeObject; now: () => number; subresource?: string },
): Form {
  const { dialect, info } = context
  const { encodings, forms, stored } = knownOf(resource)
  const { hasProtobuf, isShownAsStored } = objectKindOf(resource)
  const isStream = info.verb === 'watch'
  const representation = negotiate(context, {
    encodings: context.cbor === undefined ? encodings : [...encodings, 'cbor'],
    ...(!hasProtobuf && { metadataEncodings }),
    views: viewsOf({ hasTable: true }),
    isStream,
  })
  const { encoding, view, viewVersion, pretty } = representation
  if (view === 'object' && stored !== undefined) {
    if (encoding === 'json' && !pretty) return stored
    if (encoding === 'yaml') return yamlForm(objectView(resource), stored, context.yaml)
  }
  const metaVersion = `meta.${dialect.apiDomain}/${viewVersion}`
  if (view === 'Table') {
    const printer = objectKindOf(resource).printer(options.subresource)
    return encoded(
      tableView(resource, printer, { apiVersion: metaVersion, ...options }),
      representation,
      context,
    )
  }
  if (view !== 'object' && !isStream) {
    checkShape(view, info.verb === 'list' || info.verb === 'deletecollection', resource)
  }
  const shown = (): View =>
    view === 'object' ? objectView(resource) : partialView(metaVersion, resource)
  const made = (): Form =>
    view !== 'object' && encoding === 'json' && !pretty && isShownAsStored
      ? metadataForm(shown(), resource)
      : encoded(shown(), representation, context)
  // Its writer is the server's own.
  if (encoding === 'yaml') return encoded(shown(), representation, context)
  const key = `${encoding} ${view} ${viewVersion} ${pretty}`
  let form = forms.get(key)
  if (form === undefined) forms.set(key, (form = made()))
  return form
}
