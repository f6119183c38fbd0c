/** YamlTab: an object as YAML, and its editor. */
import { useMemo, useState } from 'preact/hooks'
import type { KubeObject } from '../../../../../components/machinery/objects/object.ts'
import { at } from '../../../app/time.ts'
import { useYaml, withoutManagedFields, type Yaml } from '../../../app/yaml.ts'
import { TextPane } from '../../../parts/text-pane.tsx'
import { Editor } from '../edit/editor.tsx'
import { useEditing, type Target } from '../edit/use-editing.ts'

interface EditProps {
  readonly yaml: Yaml
  readonly object: KubeObject
  readonly path: string
  readonly onLeave: () => void
}

function EditObject({ yaml, object, path, onLeave }: EditProps) {
  // What is edited stays the version with which the editor was opened.
  const [base] = useState(object)
  const initialText = useMemo(() => yaml.format(withoutManagedFields(base)), [yaml, base])
  const target: Target = () => ({ path, as: 'replace' })
  const editing = useEditing({ yaml, target, initialText, base })
  const leave = (text: string) => (
    <button type="button" onClick={onLeave}>
      {text}
    </button>
  )
  return <Editor editing={editing} cancel={leave('Cancel')} done={() => leave('Show the object')} />
}

export interface YamlTabProps {
  readonly object: KubeObject
  readonly path: string
  readonly canEdit: boolean
}

export function YamlTab({ object, path, canEdit }: YamlTabProps) {
  const yaml = useYaml()
  const [isEditing, setEditing] = useState(false)
  const [hasManaged, setManaged] = useState(false)
  const text = useMemo(
    () => yaml?.format(hasManaged ? object : withoutManagedFields(object)) ?? '',
    [yaml, object, hasManaged],
  )
  if (yaml === undefined) return <p class="empty">Loading</p>
  if (isEditing) return <EditObject {...{ yaml, object, path }} onLeave={() => setEditing(false)} />
  const isPast = at.value !== undefined
  return (
    <>
      <div class="stream-bar">
        <label>
          <input type="checkbox" checked={hasManaged} onChange={() => setManaged(!hasManaged)} />{' '}
          Managed fields
        </label>
        {canEdit && (
          <button type="button" disabled={isPast} onClick={() => setEditing(true)}>
            Edit
          </button>
        )}
      </div>
      <TextPane label="YAML" lines={text.trimEnd().split('\n')} isTop />
    </>
  )
}
