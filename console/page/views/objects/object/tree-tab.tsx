/** TreeTab: an object as a tree; fields that the newest version changed glow. */
import { useState } from 'preact/hooks'
import type { KubeObject } from '../../../../../components/machinery/objects/object.ts'
import { withoutManagedFields } from '../../../app/yaml.ts'
import { pathKey } from './changed-paths.ts'

/** Branches that are open at first: the object's own fields, and theirs. */
const openDepth = 2
/** More entries of one branch are not drawn. */
const mostEntries = 1000

interface NodeProps {
  readonly label: string
  readonly value: unknown
  readonly path: readonly string[]
  readonly changed: ReadonlySet<string>
  readonly change: number
}

function glowOf({ path, changed, change }: NodeProps): string {
  if (!changed.has(pathKey(path))) return ''
  return change % 2 === 0 ? 'glow-even glow-self' : 'glow-odd glow-self'
}

function Leaf(props: NodeProps) {
  const { label, value } = props
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return (
    <div class={`leaf ${glowOf(props)}`}>
      <span class="field-name">{label}:</span>{' '}
      <span class={typeof value === 'string' ? 'value' : 'value other'}>{text}</span>
    </div>
  )
}

/** What a closed branch shows of itself. */
function summaryOf(value: object): string {
  if (Array.isArray(value)) return `${value.length} ${value.length === 1 ? 'item' : 'items'}`
  const names = Object.keys(value)
  return names.slice(0, 4).join(', ') + (names.length > 4 ? ', …' : '')
}

function Branch(props: NodeProps & { readonly value: object }) {
  const { label, value, path, changed, change } = props
  const [isOpen, setOpen] = useState(path.length <= openDepth)
  const entries = Object.entries(value)
  const name = Array.isArray(value) || !('name' in value) ? '' : String(value.name)
  return (
    <details
      class="branch"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary class={glowOf(props)}>
        <span class="field-name">{label}</span>{' '}
        <span class="field-note">
          {name !== '' && isOpen ? name : isOpen ? '' : summaryOf(value)}
        </span>
      </summary>
      {isOpen &&
        entries
          .slice(0, mostEntries)
          .map(([key, one]) => (
            <TreeNode
              key={key}
              label={key}
              value={one}
              path={[...path, key]}
              changed={changed}
              change={change}
            />
          ))}
      {entries.length > mostEntries && (
        <p class="empty">{entries.length - mostEntries} more are not drawn.</p>
      )}
    </details>
  )
}

function TreeNode(props: NodeProps) {
  const { value } = props
  const isBranch = typeof value === 'object' && value !== null && Object.keys(value).length > 0
  return isBranch ? <Branch {...props} value={value} /> : <Leaf {...props} />
}

export interface TreeTabProps {
  readonly object: KubeObject
  readonly changed: ReadonlySet<string>
  readonly change: number
}

export function TreeTab({ object, changed, change }: TreeTabProps) {
  return (
    <div class="object-tree">
      {Object.entries(withoutManagedFields(object)).map(([key, value]) => (
        <TreeNode
          key={key}
          label={key}
          value={value}
          path={[key]}
          changed={changed}
          change={change}
        />
      ))}
    </div>
  )
}
