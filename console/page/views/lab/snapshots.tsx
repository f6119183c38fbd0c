/** Snapshots: saves the cluster to a file of the browser, from which `skiff up` begins another cluster. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { savedRevisionHeader } from '../../../protocol/lab.ts'
import { sendTo } from '../../app/api.ts'
import { info } from '../../app/live.ts'
import { messageOf } from '../../app/message-of.ts'
import { CommandLine } from '../../parts/command-line.tsx'

interface Saved {
  readonly file: string
  readonly revision: string
  readonly bytes: number
}

/** Gives the file to the browser, as a download. */
async function save(withSecrets: boolean, signal: AbortSignal): Promise<Saved> {
  const answer = await sendTo('/lab/saved', {
    query: { secrets: withSecrets ? undefined : 'false' },
    signal,
  })
  const revision = answer.headers.get(savedRevisionHeader) ?? ''
  const blob = await answer.blob()
  const file = `${info.value?.name ?? 'cluster'}-${revision}.skiff`
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = file
  link.click()
  // The browser reads it after this task.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
  return { file, revision, bytes: blob.size }
}

function useSaving() {
  const [saved, setSaved] = useState<Saved>()
  const [fault, setFault] = useState<string>()
  const [isSaving, setSaving] = useState(false)
  const running = useRef<AbortController>(null)
  useEffect(() => () => running.current?.abort(), [])
  const begin = async (withSecrets: boolean): Promise<void> => {
    const mine = new AbortController()
    running.current = mine
    setSaving(true)
    setSaved(undefined)
    setFault(undefined)
    try {
      setSaved(await save(withSecrets, mine.signal))
    } catch (error) {
      if (!mine.signal.aborted) setFault(`The cluster was not saved: ${messageOf(error)}`)
    } finally {
      setSaving(false)
    }
  }
  return { saved, fault, isSaving, begin, stop: () => running.current?.abort() }
}

function Result({ saved }: { readonly saved: Saved }) {
  const { file, revision, bytes } = saved
  return (
    <>
      <p>
        Saved at revision {revision}: {file}, {Math.ceil(bytes / 1000)} kB. Another cluster begins
        with it:
      </p>
      <CommandLine
        text={`skiff up --name ${info.value?.name ?? 'cluster'}-fork --from ${file}`}
        label="Command that begins a cluster with the file"
      />
    </>
  )
}

export function Snapshots() {
  const [withSecrets, setWithSecrets] = useState(false)
  const { saved, fault, isSaving, begin, stop } = useSaving()
  return (
    <section aria-labelledby="snapshots">
      <h2 id="snapshots">Snapshots and forks</h2>
      <p class="dim">
        All objects of the cluster as it is now, as <code>skiff save</code> writes them. Only
        members of system:masters may read them. Keep a file with Secrets to yourself: it holds them
        decrypted.
      </p>
      <label class="filters">
        <span>
          <input
            type="checkbox"
            checked={withSecrets}
            onChange={({ currentTarget }) => setWithSecrets(currentTarget.checked)}
          />{' '}
          With the data of Secrets
        </span>
      </label>
      <p class="buttons">
        <button type="button" disabled={isSaving} onClick={() => void begin(withSecrets)}>
          Save the cluster to a file
        </button>
        {isSaving && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
      </p>
      <div role="status">
        {isSaving && <p>Saving.</p>}
        {saved !== undefined && <Result saved={saved} />}
      </div>
      {fault !== undefined && (
        <p class="tone-bad" role="alert">
          {fault}
        </p>
      )}
    </section>
  )
}
