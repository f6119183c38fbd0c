/** NewObject: a manifest that is typed or pasted, written by server-side apply. */
import { apiPath, objectPlace, splitApiVersion } from '../../../app/object-place.ts'
import { linkTo, place } from '../../../app/router.ts'
import { at } from '../../../app/time.ts'
import { useYaml, type Yaml } from '../../../app/yaml.ts'
import { kindNamed, type Kind } from '../kinds/kinds.ts'
import { Editor } from './editor.tsx'
import { useEditing, type Target } from './use-editing.ts'

interface Manifest {
  readonly apiVersion?: unknown
  readonly kind?: unknown
  readonly metadata?: { readonly name?: unknown; readonly namespace?: unknown }
}

/** Throws an error that says what the manifest lacks. */
function placeOf(object: unknown, kinds: readonly Kind[], namespace: string) {
  if (typeof object !== 'object' || object === null || Array.isArray(object))
    throw new Error('The manifest is not an object: begin with apiVersion and kind.')
  const { apiVersion, kind, metadata } = object as Manifest
  if (typeof apiVersion !== 'string' || typeof kind !== 'string')
    throw new Error('The manifest needs apiVersion and kind.')
  const { name, namespace: own } = metadata ?? {}
  if (typeof name !== 'string' || name === '') throw new Error('The manifest needs metadata.name.')
  const found = kindNamed(kinds, { ...splitApiVersion(apiVersion), kind })
  if (found === undefined) throw new Error(`The server does not serve ${kind} of ${apiVersion}.`)
  const given = typeof own === 'string' && own !== '' ? own : namespace || 'default'
  return { kind: found, name, namespace: found.isNamespaced ? given : undefined }
}

function example(namespace: string): string {
  const lines = ['apiVersion: v1', 'kind: ConfigMap', 'metadata:', '  name: example']
  return [...lines, `  namespace: ${namespace || 'default'}`, 'data:', '  key: value', ''].join(
    '\n',
  )
}

function NewEditor({ yaml, kinds }: { readonly yaml: Yaml; readonly kinds: readonly Kind[] }) {
  const namespace = place.value.query.get('namespace') ?? ''
  const target: Target = (object) => {
    const { kind, ...named } = placeOf(object, kinds, namespace)
    return { path: apiPath({ ...kind, ...splitApiVersion(versionOf(object)) }, named), as: 'apply' }
  }
  const initialText = example(namespace)
  const editing = useEditing({ yaml, target, initialText, base: undefined })
  return (
    <Editor
      editing={editing}
      cancel={
        <a class="button" href={linkTo(['objects'], { namespace })}>
          Cancel
        </a>
      }
      done={({ object }) => {
        const { kind, ...named } = placeOf(object, kinds, namespace)
        return <a href={linkTo(objectPlace(kind, named))}>Show {named.name}</a>
      }}
    />
  )
}

function versionOf(object: unknown): string {
  return String((object as Manifest).apiVersion)
}

export function NewObject({ kinds }: { readonly kinds: readonly Kind[] }) {
  const yaml = useYaml()
  return (
    <>
      <h1>New object</h1>
      {at.value !== undefined && <p class="empty">Objects can be made only in the present.</p>}
      {yaml !== undefined && at.value === undefined && <NewEditor yaml={yaml} kinds={kinds} />}
    </>
  )
}
