/** Findings: a finding of `skiff explore`, from a file of the viewer. It is read in the page and sent nowhere. */
import { useRef, useState } from 'preact/hooks'
import { messageOf } from '../../../app/message-of.ts'
import { FindingView } from './finding-view.tsx'
import { readFinding, type Finding } from './read-finding.ts'

/** A finding of a long story has some hundred kilobytes. */
const mostMegabytes = 10

interface Read {
  readonly name: string
  readonly finding?: Finding
  readonly fault?: string
}

async function readFile(file: File): Promise<Read> {
  const { name } = file
  const megabytes = file.size / 1e6
  if (megabytes > mostMegabytes) {
    const size = megabytes.toFixed(0)
    return { name, fault: `It has ${size} MB; a finding has at most ${mostMegabytes} MB.` }
  }
  try {
    const read = readFinding(await file.text())
    return 'fault' in read ? { name, fault: read.fault } : { name, finding: read }
  } catch (error) {
    return { name, fault: `It cannot be read: ${messageOf(error)}` }
  }
}

export function Findings() {
  const [shown, setShown] = useState<Read>()
  const [isOver, setOver] = useState(false)
  const latest = useRef<File>(null)
  const show = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return
    latest.current = file
    const read = await readFile(file)
    if (latest.current === file) setShown(read)
  }
  const onDrop = (event: DragEvent): void => {
    event.preventDefault()
    setOver(false)
    void show(event.dataTransfer?.files[0])
  }
  return (
    <section
      aria-labelledby="findings"
      class={isOver ? 'drop-here' : undefined}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      <h2 id="findings">Findings</h2>
      <p>
        <label>
          Finding of <code>skiff explore</code>{' '}
          <input
            type="file"
            accept=".json"
            onChange={({ currentTarget }) => void show(currentTarget.files?.[0])}
          />
        </label>
      </p>
      <p class="dim">
        Choose a <code>.json</code> file of the folder <code>findings</code>, or drop it here. It is
        read in this page and sent nowhere.
      </p>
      {shown?.fault !== undefined && (
        <p class="tone-bad" role="alert">
          {shown.name} is not a finding of skiff explore. {shown.fault}
        </p>
      )}
      {shown?.finding !== undefined && <FindingView finding={shown.finding} file={shown.name} />}
    </section>
  )
}
