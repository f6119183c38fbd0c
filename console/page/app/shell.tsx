/** Shell: the frame of every view: name, navigation, and what is wrong with the connection. */
import { useNow } from '../parts/use-now.ts'
import { PastNote } from '../parts/past-note.tsx'
import { ViolationsNote } from '../parts/violations-note.tsx'
import { clusterNow, clusterSpeed } from './cluster-time.ts'
import { connection, info } from './live.ts'
import { linkTo, place } from './router.ts'
import { views } from './views.ts'

function Banner() {
  const { isOpen, isClusterReachable, why } = connection.value
  if (isOpen && isClusterReachable) return null
  return (
    <div class="banner" role="alert">
      <strong>{why}</strong> Trying again.
    </div>
  )
}

/** Ages go by it. */
function ClusterTime() {
  const speed = clusterSpeed.value
  useNow()
  if (speed === undefined) return null
  const nowMs = clusterNow()
  if (speed === 1 && Math.abs(nowMs - Date.now()) < 1000) return null
  const text = new Date(nowMs).toISOString().slice(0, 19).replace('T', ' ')
  return (
    <span class="cluster-time">
      Cluster time {text}
      {speed === 0 && ', paused'}
    </span>
  )
}

function Header({ current }: { readonly current: string }) {
  const cluster = info.value
  return (
    <header class="header">
      <a class="brand" href={linkTo(['cluster'])}>
        <img src="/icon.svg" alt="" width="24" height="24" /> {cluster?.name ?? 'Skiff'}
      </a>
      <nav aria-label="Views">
        {views.map(({ id, title }) => (
          <a key={id} href={linkTo([id])} aria-current={id === current ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <ClusterTime />
      <span class="viewer" title={cluster?.groups.join(', ')}>
        {cluster?.user}
      </span>
    </header>
  )
}

export function Shell() {
  const [id] = place.value.parts
  const view = views.find((one) => one.id === id) ?? views[0]
  if (view === undefined) return null
  const { component: Shown, title } = view
  document.title = `${title} · ${info.value?.name ?? 'Skiff'}`
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Header current={view.id} />
      <Banner />
      <PastNote />
      <ViolationsNote />
      <main id="main" tabIndex={-1} key={view.id}>
        {info.value === undefined ? <p class="empty">Connecting to the cluster</p> : <Shown />}
      </main>
    </>
  )
}
