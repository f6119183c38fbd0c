/** HistoryTab: the versions of an object that the server still shows, what each changed, and its conditions over time. */
import { useEffect, useState } from 'preact/hooks'
import type { KubeObject } from '../../../../../components/machinery/objects/object.ts'
import { messageOf } from '../../../app/message-of.ts'
import type { KindPlace, ObjectName } from '../../../app/object-place.ts'
import { showAt } from '../../../app/time.ts'
import { useYaml, withoutManagedFields, type Yaml } from '../../../app/yaml.ts'
import { useNow } from '../../../parts/use-now.ts'
import { DiffView } from '../edit/diff-view.tsx'
import { changedManagers, managerText } from '../edit/managers.ts'
import { changedPaths, pathText } from './changed-paths.ts'
import { ConditionHistory } from './conditions.tsx'
import { readHistory, type History } from './read-history.ts'

const mostPaths = 4

interface HistoryTabProps {
  readonly kind: KindPlace
  readonly name: ObjectName
  readonly object: KubeObject
}

/** Reads again when the object is another version. */
function useHistory({
  kind,
  name,
  object,
}: HistoryTabProps): History | { readonly fault: string } | undefined {
  const [history, setHistory] = useState<History | { readonly fault: string }>()
  const { resourceVersion } = object.metadata
  useEffect(() => {
    const left = new AbortController()
    readHistory({ kind, object: name, signal: left.signal }, object).then(
      (found) => left.signal.aborted || setHistory(found),
      (error: unknown) => left.signal.aborted || setHistory({ fault: messageOf(error) }),
    )
    return () => left.abort()
  }, [kind.group, kind.version, kind.plural, name.namespace, name.name, resourceVersion])
  return history
}

function changeText(before: KubeObject | undefined, after: KubeObject): string {
  if (before === undefined) return 'as history begins, or created'
  const paths = [...changedPaths(before, after)].map(pathText)
  const more = paths.length > mostPaths ? ` and ${paths.length - mostPaths} more` : ''
  return paths.slice(0, mostPaths).join(', ') + more
}

interface VersionProps {
  readonly before: KubeObject | undefined
  readonly version: KubeObject
  readonly yaml: Yaml | undefined
  /** The server shows nothing before. */
  readonly oldest: number
}

function Version({ before, version, yaml, oldest }: VersionProps) {
  const [isOpen, setOpen] = useState(false)
  const { resourceVersion = '' } = version.metadata
  const managers = before === undefined ? [] : changedManagers(before, version).map(managerText)
  const text = (object: KubeObject): string => yaml?.format(withoutManagedFields(object)) ?? ''
  return (
    <li>
      <div class="version-head">
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {resourceVersion}
        </button>
        <span class="version-change">
          {managers.length > 0 && <strong>{managers.join(', ')}: </strong>}
          {changeText(before, version)}
        </span>
        <button
          type="button"
          onClick={() => showAt(String(Math.max(Number(resourceVersion), oldest)))}
        >
          Show the cluster then
        </button>
      </div>
      {isOpen && yaml !== undefined && (
        <DiffView
          label={`Difference of revision ${resourceVersion}`}
          before={before === undefined ? '' : text(before)}
          after={text(version)}
        />
      )}
    </li>
  )
}

export function HistoryTab(props: HistoryTabProps) {
  const history = useHistory(props)
  const yaml = useYaml()
  const nowMs = useNow(5000)
  if (history === undefined)
    return (
      <p class="empty" role="status">
        Reading history
      </p>
    )
  if ('fault' in history)
    return (
      <>
        <p class="fault">The history cannot be read: {history.fault}</p>
        <ConditionHistory versions={[props.object]} nowMs={nowMs} />
      </>
    )
  const { versions, oldest } = history
  const newestFirst = versions.map((version, index) => ({ version, before: versions[index - 1] }))
  return (
    <>
      <h2>Conditions over time</h2>
      <ConditionHistory versions={versions} nowMs={nowMs} />
      <h2>
        {versions.length} {versions.length === 1 ? 'version' : 'versions'} since revision {oldest}
      </h2>
      <ol class="versions" reversed>
        {newestFirst.toReversed().map(({ version, before }) => (
          <Version
            key={version.metadata.resourceVersion}
            version={version}
            before={before}
            yaml={yaml}
            oldest={oldest}
          />
        ))}
      </ol>
    </>
  )
}
