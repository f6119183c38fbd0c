/** Theme: the default one, and room for wide diagrams. */
import DefaultTheme from 'vitepress/theme'
import './diagrams.css'

export default DefaultTheme
