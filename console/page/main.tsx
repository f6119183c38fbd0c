/** The page's entry. */
import { render } from 'preact'
import { connect } from './app/live.ts'
import { Shell } from './app/shell.tsx'
import './style/page.css'

connect()
render(<Shell />, document.body)
